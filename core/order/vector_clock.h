#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace devsan::order {

/// A moment of one timeline, counted from 1; 0 is before all of them.
using Time = std::uint64_t;

/// How far each timeline is known to be done: what happened at or before that moment comes before this clock's.
class VectorClock {
 public:
  Time at(std::size_t timeline) const noexcept { return timeline < times_.size() ? times_[timeline] : 0; }

  void advance(std::size_t timeline, Time time) {
    if (timeline >= times_.size()) times_.resize(timeline + 1);
    times_[timeline] = std::max(times_[timeline], time);
  }

  /// From here on what `other` knows is known here too.
  void join(const VectorClock& other) {
    for (std::size_t i = 0; i < other.times_.size(); ++i) advance(i, other.times_[i]);
  }

  bool empty() const noexcept { return times_.empty(); }

 private:
  std::vector<Time> times_;
};

}  // namespace devsan::order
