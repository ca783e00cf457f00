#include "memory/held_blocks.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace devsan::memory {

namespace {

using model::HolderKind;
using model::MemoryHolder;
using model::MemoryPart;

constexpr std::size_t kLargest = 3;

/// The name that counts for each block: a weight that a variable holds as well is a weight.
std::unordered_map<Address, const NamedBlock*> by_address(std::span<const NamedBlock> names) {
  std::unordered_map<Address, const NamedBlock*> found;
  for (const NamedBlock& each : names) {
    const auto [at, is_new] = found.try_emplace(each.address, &each);
    if (!is_new && each.kind < at->second->kind) at->second = &each;
  }
  return found;
}

HolderKind kind_of(const HeldBlock& block, const NamedBlock* named, bool tells_origin) {
  if (named != nullptr && named->kind != HolderKind::kUnknown) return named->kind;
  if (block.use == Use::kCache) return HolderKind::kCache;
  if (!block.computed_by.empty()) {
    return block.momentary ? HolderKind::kTemporary : HolderKind::kActivation;
  }
  if (block.use == Use::kCommunication) return HolderKind::kCommunication;
  if (block.placement != 0) return HolderKind::kData;
  return tells_origin && named == nullptr ? HolderKind::kWorkspace : HolderKind::kUnknown;
}

bool is_larger(const auto& one, const auto& other) { return one.bytes > other.bytes; }

void sort(std::vector<MemoryPart>& parts) {
  std::ranges::stable_sort(parts, [](const auto& one, const auto& other) { return is_larger(one, other); });
}

}  // namespace

std::vector<MemoryPart> parts_of(std::span<const HeldBlock> blocks, std::span<const NamedBlock> names,
                                 bool tells_origin) {
  const auto named_at = by_address(names);
  std::map<HolderKind, MemoryPart> parts;
  std::map<std::tuple<HolderKind, std::string, std::string, std::uint64_t>, MemoryHolder> holders;
  for (const HeldBlock& block : blocks) {
    const auto found = named_at.find(block.address);
    const NamedBlock* named = found == named_at.end() ? nullptr : found->second;
    const HolderKind kind = kind_of(block, named, tells_origin);
    std::string name = named == nullptr ? "" : named->name;
    const bool is_of_part =
        kind == HolderKind::kActivation || kind == HolderKind::kTemporary || kind == HolderKind::kCache;
    if (name.empty() && is_of_part) name = block.part;
    const std::string op = name.empty() ? block.computed_by : "";
    const std::uint64_t placement = name.empty() && op.empty() ? block.placement : 0;
    MemoryHolder& holder = holders[{kind, name, op, placement}];
    holder.name = name;
    holder.op = op;
    holder.placement = placement;
    holder.bytes += block.bytes;
    ++holder.tensors;
    MemoryPart& part = parts[kind];
    part.kind = kind;
    part.bytes += block.bytes;
    ++part.tensors;
  }
  for (auto& [key, holder] : holders) {
    const bool says_something = !holder.name.empty() || !holder.op.empty() || holder.placement != 0;
    if (says_something) parts[std::get<0>(key)].largest.push_back(std::move(holder));
  }
  std::vector<MemoryPart> sorted;
  for (auto& [kind, part] : parts) {
    std::ranges::stable_sort(part.largest, [](const auto& one, const auto& other) { return is_larger(one, other); });
    if (part.largest.size() > kLargest) part.largest.resize(kLargest);
    sorted.push_back(std::move(part));
  }
  sort(sorted);
  return sorted;
}

void add_overhead(std::vector<MemoryPart>& parts, std::uint64_t allocated, std::uint64_t reserved,
                  std::uint64_t process) {
  const auto add = [&parts](HolderKind kind, std::uint64_t all, std::uint64_t part) {
    if (all > part) parts.push_back({kind, all - part, 0, {}});
  };
  add(HolderKind::kFragmentation, reserved, allocated);
  add(HolderKind::kContext, process, reserved);
  sort(parts);
}

model::HeldMemory held_memory_of(const OutOfMemoryFigures& figures) {
  model::HeldMemory held;
  held.device = model::Device("cuda:" + std::to_string(figures.device));
  held.requested = figures.requested;
  held.tried = figures.tried;
  held.total = figures.device_total;
  held.free = figures.device_free;
  held.process = figures.process;
  held.others = figures.busy;
  if (figures.sharing != nullptr) {
    for (const ProcessUse& each : *figures.sharing) held.others += each.is_self ? 0 : each.bytes;
  }
  held.allowed = figures.allowed.value_or(0);
  held.allocated = figures.allocated;
  held.reserved = figures.reserved;
  held.expandable_segments = figures.expandable_segments;
  return held;
}

}  // namespace devsan::memory
