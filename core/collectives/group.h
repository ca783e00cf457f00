#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace devsan::collectives {

/// What messages and the flight recorder say about a process group.
struct Group {
  std::string name;         ///< torch's: "0" is the group of all
  std::string description;  ///< "default_pg", "mesh_dp", or empty
  std::uint64_t id = 0;     ///< counts this process's nccl groups, from 0
  int rank = 0;             ///< of this process, in the group
  int size = 0;
  std::vector<std::uint64_t> global_ranks;  ///< by rank in the group; empty for the group of all

  int global_rank(int rank_in_group) const {
    const auto place = static_cast<std::size_t>(rank_in_group);
    return place < global_ranks.size() ? static_cast<int>(global_ranks[place]) : rank_in_group;
  }
};

/// "[PG ID 0 PG GUID 0(default_pg) Rank 3] ", which precedes what ProcessGroupNCCL says
/// (createLogPrefix of torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp).
std::string log_prefix(const Group& group);

}  // namespace devsan::collectives
