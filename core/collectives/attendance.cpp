#include "collectives/attendance.h"

#include <algorithm>
#include <utility>

namespace devsan::collectives {
namespace {

struct Sample {
  std::vector<int> ranks;
  int world_size = 0;
};

/// Set before the first group is made, by the thread that starts the emulation.
Sample& sample() {
  static Sample of_process;
  return of_process;
}

}  // namespace

void set_sample(std::vector<int> ranks, int world_size) { sample() = {std::move(ranks), world_size}; }

std::vector<std::uint64_t> global_ranks_of(const std::vector<int>& ranks,
                                           const std::vector<std::uint64_t>& global_ranks) {
  std::vector<std::uint64_t> found(ranks.begin(), ranks.end());
  if (global_ranks.empty()) return found;
  for (std::uint64_t& rank : found) rank = global_ranks.at(rank);
  return found;
}

Attendance::Attendance(int size, const std::vector<std::uint64_t>& global_ranks) {
  const auto& [sampled, world_size] = sample();
  // A group that was made by hand may not say which ranks it has: those that made it run.
  const bool is_known = !sampled.empty() && (!global_ranks.empty() || size == world_size);
  for (int rank = 0; rank < size; ++rank) {
    const auto place = static_cast<std::size_t>(rank);
    const int global = place < global_ranks.size() ? static_cast<int>(global_ranks[place]) : rank;
    if (!is_known || std::ranges::binary_search(sampled, global)) present_.push_back(rank);
    places_.push_back(std::max(static_cast<int>(present_.size()) - 1, 0));
  }
}

int Attendance::weight(int rank) const { return static_cast<int>(std::ranges::count(places_, place(rank))); }

}  // namespace devsan::collectives
