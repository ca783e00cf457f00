#pragma once

#include <cstddef>
#include <deque>
#include <map>

#include "order/lane.h"
#include "order/vector_clock.h"

namespace devsan::order {

/// What each stream and the host know of each other. Not thread-safe.
class Clocks {
 public:
  Clocks() { timeline_of(kHost); }

  /// The number under which clocks know `lane`.
  std::size_t timeline_of(Lane lane);
  /// What is known on a timeline.
  const VectorClock& of(std::size_t timeline) const noexcept { return clocks_[timeline]; }

  /// Something begins on `lane`, behind all that the host knows. @returns its moment
  Time begin(Lane lane);
  /// What `lane` knows now, itself included.
  const VectorClock& mark(Lane lane);
  /// `lane` goes on after `mark`.
  void wait(Lane lane, const VectorClock& mark) { clocks_[timeline_of(lane)].join(mark); }
  /// The host waits for all streams of a GPU.
  void wait_for_device(int device);

 private:
  std::map<Lane, std::size_t> timelines_;
  std::deque<VectorClock> clocks_;  // `mark` hands out references, which a new lane leaves alone
};

}  // namespace devsan::order
