#include "record/placement_table.h"

#include <algorithm>

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

PlacementRecord* PlacementTable::ancestor_alike(const Placement& placement) {
  Placement alike = placement;
  for (auto found = records_.find(placement.source); found != records_.end(); found = records_.find(alike.source)) {
    alike.source = found->second.placement.source;
    if (found->second.placement == alike) return &found->second;
  }
  return nullptr;
}

const PlacementRecord* PlacementTable::count(const Placement& placement, std::uint64_t bytes, bool may_grow) {
  PlacementRecord* record = nullptr;
  if (const auto found = ids_.find(placement); found != ids_.end()) {
    record = found->second;
  } else {
    record = ancestor_alike(placement);
    if (record == nullptr) {
      if (!may_grow || is_out_of_numbers()) return nullptr;
      ++latest_;
      record = &records_.emplace(latest_, PlacementRecord{placement, latest_}).first->second;
      may_grow = true;
    }
    if (may_grow) ids_.emplace(placement, record);
  }
  ++record->times;
  record->bytes += bytes;
  record->last_use = ++uses_;
  return record;
}

void PlacementTable::take_back(PlacementId id) {
  const auto found = records_.find(id);
  if (found != records_.end() && found->second.times != 0) --found->second.times;
}

std::optional<PlacementRecord> PlacementTable::find(PlacementId id) const {
  const auto found = records_.find(id);
  return found == records_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<PlacementRecord> PlacementTable::unneeded(std::span<const PlacementId> live, std::uint64_t began) const {
  std::unordered_map<PlacementId, int> needed;  // and how far back from there
  const auto need = [&](PlacementId id) {
    for (int depth = kDeepest; depth > 0; --depth) {
      const auto record = records_.find(id);
      if (record == records_.end()) return;
      int& known = needed[id];
      if (known >= depth) return;
      known = depth;
      id = record->second.placement.source;
    }
  };
  for (const PlacementId id : live) need(id);
  for (const auto& [id, record] : records_) {
    if (record.last_use > began) need(id);
  }
  std::vector<PlacementRecord> found;
  for (const auto& [id, record] : records_) {
    if (!needed.contains(id)) found.push_back(record);
  }
  std::ranges::sort(found, {}, &PlacementRecord::last_use);
  return found;
}

void PlacementTable::drop(const std::unordered_set<PlacementId>& ids) {
  std::erase_if(ids_,
                [&](const auto& entry) { return ids.contains(entry.second->id) || ids.contains(entry.first.source); });
  for (const PlacementId id : ids) records_.erase(id);
}

std::vector<PlacementId> PlacementTable::numbers() const {
  std::vector<PlacementId> found;
  found.reserve(records_.size());
  for (const auto& [id, record] : records_) found.push_back(id);
  std::ranges::sort(found);
  return found;
}

}  // namespace devsan::record
