#include "record/placement_table.h"

namespace devsan::record {

std::size_t PlacementTable::Hash::operator()(const Placement& placement) const noexcept {
  std::uint64_t hash = placement.stack;
  const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL; };
  mix(placement.source);
  mix(placement.op);
  mix(static_cast<std::uint64_t>(placement.kind) << 16U | static_cast<std::uint64_t>(placement.device & 0xFF) << 8U |
      static_cast<std::uint64_t>(placement.from & 0xFF));
  return hash ^ hash >> 32U;
}

PlacementId PlacementTable::ancestor_alike(const Placement& placement) const {
  Placement alike = placement;
  for (PlacementId id = placement.source; id != kUnknownPlacement; id = records_[id - 1].placement.source) {
    alike.source = records_[id - 1].placement.source;
    if (records_[id - 1].placement == alike) return id;
  }
  return kUnknownPlacement;
}

PlacementId PlacementTable::add(const Placement& placement, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  PlacementId id = kUnknownPlacement;
  if (const auto found = ids_.find(placement); found != ids_.end()) {
    id = found->second;
  } else {
    id = ancestor_alike(placement);
    if (id == kUnknownPlacement) {
      if (records_.size() >= max_entries_) return kUnknownPlacement;
      records_.push_back({placement});
      id = static_cast<PlacementId>(records_.size());
    }
    if (ids_.size() < 2 * max_entries_) ids_.emplace(placement, id);
  }
  PlacementRecord& record = records_[id - 1];
  ++record.times;
  record.bytes += bytes;
  return id;
}

void PlacementTable::take_back(PlacementId id) {
  const std::lock_guard lock(mutex_);
  if (id != kUnknownPlacement && id <= records_.size() && records_[id - 1].times != 0) --records_[id - 1].times;
}

std::optional<PlacementRecord> PlacementTable::find(PlacementId id) const {
  const std::lock_guard lock(mutex_);
  if (id == kUnknownPlacement || id > records_.size()) return std::nullopt;
  return records_[id - 1];
}

std::size_t PlacementTable::size() const {
  const std::lock_guard lock(mutex_);
  return records_.size();
}

}  // namespace devsan::record
