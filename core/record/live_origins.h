#pragma once

#include <mutex>
#include <vector>

#include "record/placement.h"

namespace devsan::record {

/// An origin that a piece of memory carries, and its neighbors in the list of those that live.
struct CarriedOrigin {
  Origin origin;
  CarriedOrigin* previous = nullptr;
  CarriedOrigin* next = nullptr;
};

/// Memory of the host that was placed, so that the recorder can tell what it still needs. Each of its placements takes a
/// stack, beside which a lock is nothing. (Memory of a GPU is known to its allocator.) There is one list, and it is never
/// destroyed. May be used from any thread.
class LiveOrigins {
 public:
  static LiveOrigins& instance();

  void enter(CarriedOrigin& carried) noexcept;
  void leave(CarriedOrigin& carried) noexcept;
  void change(CarriedOrigin& carried, Origin origin) noexcept;

  /// Adds the placements that memory in the list carries.
  void collect(std::vector<PlacementId>& live) const;

  /// For pthread_atfork: the child must not inherit the lock taken.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  mutable std::mutex mutex_;
  CarriedOrigin* first_ = nullptr;
};

}  // namespace devsan::record
