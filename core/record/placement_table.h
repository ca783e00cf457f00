#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "record/placement.h"

namespace devsan::record {

/// A placement with what became of it.
struct PlacementRecord {
  Placement placement;
  std::uint64_t times = 0;
  std::uint64_t bytes = 0;  ///< copied, all times together
};

/// Placements, each kept once: see NOTE [Placements, not events]. May be used from any thread.
class PlacementTable {
 public:
  explicit PlacementTable(std::size_t max_entries) : max_entries_(max_entries) {}

  /// Counts a placement that copies `bytes`. A move back and forth by the same statements is the same placement, not a longer
  /// and longer history.
  /// @return its id, or kUnknownPlacement where there is no room for another one
  PlacementId add(const Placement& placement, std::uint64_t bytes);

  /// Takes one count back: the tensor turned out to be placed otherwise.
  void take_back(PlacementId id);

  std::optional<PlacementRecord> find(PlacementId id) const;

  std::size_t size() const;

  /// For pthread_atfork: the child must not inherit the lock taken.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  struct Hash {
    std::size_t operator()(const Placement& placement) const noexcept;
  };

  PlacementId ancestor_alike(const Placement& placement) const;

  mutable std::mutex mutex_;
  std::deque<PlacementRecord> records_;
  std::unordered_map<Placement, PlacementId, Hash> ids_;
  std::size_t max_entries_;
};

}  // namespace devsan::record
