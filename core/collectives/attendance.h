#pragma once

#include <cstdint>
#include <vector>

namespace devsan::collectives {

// NOTE [A sample of ranks]
// Of a launch too large for this machine some ranks run (`devsan run --ranks`), each as it would in the whole: the groups
// have their full sizes, and whoever does not run has a stand-in, the nearest lower rank of the group that runs, else the
// group's first that does. The stand-in counts as often as there are ranks that it stands for: its addend is multiplied,
// its part is copied to where the parts of the others belong. So there are numbers everywhere, of the right sizes and of
// the right order, and nobody waits for a rank that never comes. gloo connects those that run: SampledGloo.

/// Of this process, from here on: of `world_size` ranks only these run, in ascending order. None: all of them.
void set_sample(std::vector<int> ranks, int world_size);

/// The ranks in the world of some ranks of a group.
/// @param global_ranks of the group; empty for the group of all
std::vector<std::uint64_t> global_ranks_of(const std::vector<int>& ranks,
                                           const std::vector<std::uint64_t>& global_ranks);

/// Which ranks of a group run, and who stands for the others. Ranks are those in the group.
class Attendance {
 public:
  Attendance() = default;
  /// @param global_ranks by rank in the group; empty for the group of all
  Attendance(int size, const std::vector<std::uint64_t>& global_ranks);

  /// In ascending order: all of a group where there is no sample.
  const std::vector<int>& present() const { return present_; }
  bool is_full() const { return present_.size() == places_.size(); }
  bool is_present(int rank) const { return stand_in(rank) == rank; }
  int stand_in(int rank) const { return present_[static_cast<std::size_t>(place(rank))]; }
  /// Of the rank, or of its stand-in, among those that run.
  int place(int rank) const { return places_[static_cast<std::size_t>(rank)]; }
  /// How many ranks one that runs stands for, itself included.
  int weight(int rank) const;

 private:
  std::vector<int> present_;
  std::vector<int> places_;  // by rank
};

}  // namespace devsan::collectives
