#include "emulate/runtime/held_memory.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "emulate/runtime/charged_memory.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/origin.h"
#include "memory/held_blocks.h"
#include "record/recorder.h"

namespace devsan::emulate {
namespace {

std::vector<memory::HeldBlock> described(const std::vector<memory::TaggedBlock>& held) {
  std::vector<memory::HeldBlock> blocks;
  blocks.reserve(held.size());
  for (const memory::TaggedBlock& each : held) {
    const record::Origin origin = origin_of(each.tag);
    blocks.push_back(
        {each.address, each.size, record::Recorder::instance().operator_name(origin.computed_by), origin.placement});
  }
  return blocks;
}

/// The names of the blocks of one peak.
struct KnownNames {
  std::shared_ptr<const memory::Peak> peak;
  std::map<memory::Address, memory::NamedBlock> names;
};

struct AllKnownNames {
  std::mutex mutex;
  std::map<c10::DeviceIndex, KnownNames> of;
};

AllKnownNames& known_names() {
  static auto* known = new AllKnownNames();  // never destroyed, as the devices
  return *known;
}

/// Adds what `named` says of the allocations of the peak. The lowest kind counts, as in parts_of.
void add_names(KnownNames& known, c10::DeviceIndex index, const std::vector<NamedTensor>& named) {
  std::unordered_map<memory::Address, std::uint64_t> serials;
  for (const memory::TaggedBlock& each : known.peak->held) serials[each.address] = each.serial;
  for (const NamedTensor& each : named) {
    const memory::Block* block = block_of(each.tensor);
    if (block == nullptr || block->device != index) continue;
    const auto found = serials.find(block->address);
    if (found == serials.end() || found->second != block->serial) continue;
    const auto [at, is_new] = known.names.try_emplace(block->address, block->address, each.kind, each.name);
    if (!is_new && each.kind < at->second.kind) at->second = {block->address, each.kind, each.name};
  }
}

model::PeakMemory described(const KnownNames& known, c10::DeviceIndex index) {
  const memory::Peak& peak = *known.peak;
  model::PeakMemory found;
  found.device = model::Device("cuda:" + std::to_string(index));
  found.allocated = peak.allocated;
  found.reserved = peak.reserved;
  found.placement = peak.cause;
  const auto last = std::ranges::max_element(peak.held, {}, &memory::TaggedBlock::serial);
  if (last != peak.held.end()) {
    found.op = record::Recorder::instance().operator_name(origin_of(last->tag).computed_by);
  }
  std::vector<memory::NamedBlock> names;
  for (const auto& [address, name] : known.names) names.push_back(name);
  found.parts = memory::parts_of(described(peak.held), names, record::Recorder::instance().is_on());
  return found;
}

std::vector<memory::NamedBlock> names_on(c10::DeviceIndex index, const std::vector<NamedTensor>& named) {
  std::vector<memory::NamedBlock> names;
  for (const NamedTensor& each : named) {
    const memory::Block* block = block_of(each.tensor);
    if (block != nullptr && block->device == index) names.push_back({block->address, each.kind, each.name});
  }
  return names;
}

std::vector<model::GpuRoom> rooms_beside(c10::DeviceIndex index) {
  std::vector<model::GpuRoom> rooms;
  for (c10::DeviceIndex other = 0; other < device_count(); ++other) {
    if (other == index) continue;
    const memory::CachingAllocator& allocator = device(other).allocator;
    rooms.push_back({model::Device("cuda:" + std::to_string(other)), allocator.total_bytes(), allocator.room()});
  }
  return rooms;
}

}  // namespace

std::optional<model::HeldMemory> held_memory(std::string_view message, const std::vector<NamedTensor>& named) {
  for (c10::DeviceIndex index = 0; index < device_count(); ++index) {
    const auto exhaustion = device(index).allocator.last_exhaustion();
    if (exhaustion == nullptr || message.find(exhaustion->sentence) == std::string_view::npos) continue;
    model::HeldMemory held = memory::held_memory_of(exhaustion->figures);
    held.parts =
        memory::parts_of(described(exhaustion->held), names_on(index, named), record::Recorder::instance().is_on());
    held.elsewhere = rooms_beside(index);
    return held;
  }
  return std::nullopt;
}

std::vector<model::PeakMemory> peaks(const std::vector<NamedTensor>& named) {
  const std::lock_guard lock(known_names().mutex);
  std::vector<model::PeakMemory> found;
  for (c10::DeviceIndex index = 0; index < device_count(); ++index) {
    auto peak = device(index).allocator.peak();
    if (peak == nullptr) continue;
    KnownNames& known = known_names().of[index];
    if (known.peak != peak) known = {std::move(peak), {}};
    add_names(known, index, named);
    found.push_back(described(known, index));
  }
  return found;
}

bool has_new_peak() {
  const std::lock_guard lock(known_names().mutex);
  for (c10::DeviceIndex index = 0; index < device_count(); ++index) {
    const auto peak = device(index).allocator.peak();
    if (peak != nullptr && known_names().of[index].peak != peak) return true;
  }
  return false;
}

}  // namespace devsan::emulate
