#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "record/placement.h"

namespace devsan::record {

/// A placement with what became of it.
struct PlacementRecord {
  Placement placement;
  PlacementId id = kUnknownPlacement;
  std::uint64_t times = 0;
  std::uint64_t bytes = 0;     ///< copied, all times together
  std::uint64_t last_use = 0;  ///< when it happened last, as PlacementTable::uses counts
};

/// Placements, each kept once: see NOTE [Placements, not events]. Not thread-safe: the recorder's lock covers it.
class PlacementTable {
 public:
  /// What a placement takes, at most.
  static constexpr std::size_t kBytes = 2 * sizeof(PlacementRecord) + 3 * 48;

  /// How many placements back a tensor's history is kept for it.
  static constexpr int kDeepest = 64;

  /// Counts a placement that copies `bytes`. A move back and forth by the same statements is the same placement, not a longer
  /// and longer history.
  /// @param may_grow whether there is room for another one
  /// @return null for a placement that is not there and has no room
  const PlacementRecord* count(const Placement& placement, std::uint64_t bytes, bool may_grow);

  /// Takes one count back: the tensor turned out to be placed otherwise.
  void take_back(PlacementId id);

  std::optional<PlacementRecord> find(PlacementId id) const;

  /// What the tensors that say `live` do not need, the one that was used longest ago first.
  /// @param began what `uses` was when the asking for them began: what was used since is needed too
  std::vector<PlacementRecord> unneeded(std::span<const PlacementId> live, std::uint64_t began) const;

  /// Drops placements; their numbers are not given out again.
  void drop(const std::unordered_set<PlacementId>& ids);

  /// The numbers of all that are kept, in the order in which they came.
  std::vector<PlacementId> numbers() const;

  std::size_t size() const noexcept { return records_.size(); }
  std::size_t bytes() const noexcept { return (records_.size() + ids_.size()) * (kBytes / 2); }
  bool is_out_of_numbers() const noexcept { return latest_ + 1 == kDroppedPlacement; }
  /// How many placements were counted.
  std::uint64_t uses() const noexcept { return uses_; }

 private:
  struct Hash {
    std::size_t operator()(const Placement& placement) const noexcept;
  };

  PlacementRecord* ancestor_alike(const Placement& placement);

  std::unordered_map<PlacementId, PlacementRecord> records_;
  std::unordered_map<Placement, PlacementRecord*, Hash> ids_;
  PlacementId latest_ = kUnknownPlacement;
  std::uint64_t uses_ = 0;
};

}  // namespace devsan::record
