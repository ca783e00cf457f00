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

std::vector<memory::HeldBlock> described(const std::vector<memory::TaggedBlock>& held, const ScopeNames& scopes) {
  std::vector<memory::HeldBlock> blocks;
  blocks.reserve(held.size());
  for (const memory::TaggedBlock& each : held) {
    const record::Origin origin = origin_of(each.tag);
    const auto scope = scopes.find(each.scope);
    blocks.push_back({each.address, each.size, record::Recorder::instance().operator_name(origin.computed_by),
                      origin.placement, scope == scopes.end() ? std::string() : scope->second, each.momentary,
                      each.use});
  }
  return blocks;
}

/// Whether blocks say where they come from. What was taken while placements were recorded does so ever after.
bool tells_origin(const std::vector<memory::TaggedBlock>& held) {
  return record::Recorder::instance().is_on() ||
         std::ranges::any_of(held, [](const memory::TaggedBlock& each) { return each.tag != 0; });
}

/// Names by the serial of the allocation.
using Names = std::unordered_map<std::uint64_t, memory::NamedBlock>;

/// The names of the blocks of one peak.
struct KnownNames {
  std::shared_ptr<const memory::Peak> peak;
  Names names;
  ScopeNames scopes;
  Names seen;  ///< when it was asked last: a gradient of the step before may be held at the next peak, and then be gone
};

struct AllKnownNames {
  std::mutex mutex;
  std::map<c10::DeviceIndex, KnownNames> of;
};

AllKnownNames& known_names() {
  static auto* known = new AllKnownNames();  // never destroyed, as the devices
  return *known;
}

/// The names of what is allocated on a GPU now. The lowest kind counts, as in parts_of.
Names names_now(c10::DeviceIndex index, const std::vector<NamedTensor>& named) {
  Names names;
  for (const NamedTensor& each : named) {
    const memory::Block* block = block_of(each.tensor);
    if (block == nullptr || block->device != index) continue;
    const memory::NamedBlock name{block->address, each.kind, each.name};
    const auto [at, is_new] = names.try_emplace(block->serial, name);
    if (!is_new && each.kind < at->second.kind) at->second = name;
  }
  return names;
}

/// Keeps what `names` says of the allocations of the peak.
void add_names(KnownNames& known, const Names& names) {
  for (const memory::TaggedBlock& each : known.peak->held) {
    const auto found = names.find(each.serial);
    if (found == names.end()) continue;
    const auto [at, is_new] = known.names.try_emplace(each.serial, found->second);
    if (!is_new && found->second.kind < at->second.kind) at->second = found->second;
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
  for (const auto& [serial, name] : known.names) names.push_back(name);
  found.parts = memory::parts_of(described(peak.held, known.scopes), names, tells_origin(peak.held));
  memory::add_overhead(found.parts, peak.allocated, peak.reserved, peak.process);
  return found;
}

std::vector<memory::NamedBlock> names_on(const EmulatedDevice& gpu, const std::vector<NamedTensor>& named) {
  std::vector<memory::NamedBlock> names;
  for (const NamedTensor& each : named) {
    const memory::Block* block = block_of(each.tensor);
    if (block != nullptr && block->owner == &gpu.allocator) names.push_back({block->address, each.kind, each.name});
  }
  return names;
}

/// The GPUs of the latest emulation whose figures `message` has, the one that they are of first; none where it has none.
/// An error may leave the emulation that it was raised in before it is reported on.
std::vector<EmulatedDevice*> exhausted_and_others(std::string_view message) {
  std::vector<EmulatedDevice*> found;
  std::vector<EmulatedDevice*> set;
  const auto look_at_set = [&] {
    const auto here = std::ranges::find_if(set, [message](EmulatedDevice* each) {
      const auto exhaustion = each->allocator.last_exhaustion();
      return exhaustion != nullptr && message.find(exhaustion->sentence) != std::string_view::npos;
    });
    if (here == set.end()) return;
    std::rotate(set.begin(), here, std::next(here));
    found = set;
  };
  for_each_device([&](EmulatedDevice& each) {
    if (each.index == 0) {
      look_at_set();
      set.clear();
    }
    set.push_back(&each);
  });
  look_at_set();
  return found;
}

}  // namespace

std::optional<model::HeldMemory> held_memory(std::string_view message, const std::vector<NamedTensor>& named) {
  const std::vector<EmulatedDevice*> gpus = exhausted_and_others(message);
  if (gpus.empty()) return std::nullopt;
  const auto exhaustion = gpus.front()->allocator.last_exhaustion();
  model::HeldMemory held = memory::held_memory_of(exhaustion->figures);
  held.parts =
      memory::parts_of(described(exhaustion->held, {}), names_on(*gpus.front(), named), tells_origin(exhaustion->held));
  for (auto other = std::next(gpus.begin()); other != gpus.end(); ++other) {
    const memory::CachingAllocator& allocator = (*other)->allocator;
    held.elsewhere.push_back(
        {model::Device("cuda:" + std::to_string((*other)->index)), allocator.total_bytes(), allocator.room()});
  }
  return held;
}

std::vector<model::PeakMemory> peaks(const std::vector<NamedTensor>& named, const ScopeNames& scopes) {
  const std::lock_guard lock(known_names().mutex);
  std::vector<model::PeakMemory> found;
  for (c10::DeviceIndex index = 0; index < device_count(); ++index) {
    auto peak = device(index).allocator.peak();
    if (peak == nullptr) continue;
    KnownNames& known = known_names().of[index];
    if (known.peak != peak) known = {std::move(peak), {}, {}, std::move(known.seen)};
    Names names = names_now(index, named);
    add_names(known, names);
    add_names(known, known.seen);
    known.seen = std::move(names);
    known.scopes.insert(scopes.begin(), scopes.end());
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
