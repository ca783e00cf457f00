#include "emulate/runtime/held_memory.h"

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

}  // namespace devsan::emulate
