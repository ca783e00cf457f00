#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "collectives/attendance.h"

namespace devsan::collectives {

/// What messages and the flight recorder say about a process group.
struct Group {
  std::string name;         ///< torch's: "0" is the group of all
  std::string description;  ///< "default_pg", "mesh_dp", or empty
  std::uint64_t id = 0;     ///< counts this process's nccl groups, from 0
  int rank = 0;             ///< of this process, in the group
  int size = 0;
  std::vector<std::uint64_t> global_ranks;  ///< by rank in the group; empty for the group of all
  Attendance attendance;                    ///< which of them run

  int global_rank(int rank_in_group) const {
    const auto place = static_cast<std::size_t>(rank_in_group);
    return place < global_ranks.size() ? static_cast<int>(global_ranks[place]) : rank_in_group;
  }
};

/// "[PG ID 0 PG GUID 0(default_pg) Rank 3] ", which precedes what ProcessGroupNCCL says
/// (createLogPrefix of torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp).
std::string log_prefix(const Group& group);

/// Who a rank is: what NCCL's ranks tell each other when they meet (ncclPeerInfo of NCCL's src/init.cc).
struct Identity {
  std::string machine;      ///< the same for processes of one machine
  std::int64_t bus_id = 0;  ///< of its GPU: domain, bus and device of PCI
  std::int64_t process = 0;
  int ordinal = 0;              ///< of its GPU in the process
  int table = -1;               ///< descriptor of the communicator's table in the process, where it has made it
  std::uint64_t table_key = 0;  ///< that stands on it
};

/// Of this process, with its GPU `device`.
Identity own_identity(c10::Device device);

std::string to_text(const Identity& identity);
/// Raises RuntimeError for a text that `to_text` did not write.
Identity identity_from_text(const std::string& text);

/// Whether the process was on this machine and has ended since: it is gone, or nobody has waited for it yet.
bool has_ended(const Identity& identity);

}  // namespace devsan::collectives
