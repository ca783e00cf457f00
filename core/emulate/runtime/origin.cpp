#include "emulate/runtime/origin.h"

#include "emulate/runtime/charged_memory.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/pinned_memory.h"
#include "emulate/runtime/storage.h"
#include "record/timeline.h"

namespace devsan::emulate {
namespace {

using record::PlacementKind;
using record::Recorder;
using record::Timeline;

std::int8_t index_of(const at::Tensor& tensor) { return tensor.is_cuda() ? tensor.get_device() : record::kHost; }

const c10::DataPtr* memory_of(const at::Tensor& tensor) noexcept {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  if (!impl->has_storage()) return nullptr;
  const c10::StorageImpl* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  if (!is_virtual(*storage)) return &memory_under(storage->data_ptr());
  return &static_cast<const c10::StorageImpl*>(storage->data_ptr().get_context())->data_ptr();
}

/// For a run file: how much of the GPU's memory is taken. See NOTE [What a run file holds of time].
void look_at_memory(std::int8_t index) {
  if (C10_LIKELY(!Timeline::instance().wants_sample(index))) return;
  const EmulatedDevice* device = find_device(index);
  if (device == nullptr) return;
  const memory::Stats stats = device->allocator.stats();
  Timeline::instance().add_sample({.device = index,
                                   .allocated = stats.allocated_bytes.all().current,
                                   .reserved = stats.reserved_bytes.all().current,
                                   .held = stats.held_by_phase});
}

/// For a run file: a copy from one device into a tensor of another that was there before. The tensor stays where it is,
/// so this is not its placement.
void note_refilled(record::OperatorId op, const at::Tensor& target, const at::Tensor& source) {
  if (!Timeline::instance().is_on() || target.device() == source.device() || has_origin()) return;
  record::Placement placement{PlacementKind::kMoved, index_of(target), index_of(source), op};
  placement.source = origin_of(source).placement;
  Recorder::instance().note(placement, source.nbytes());
}

}  // namespace

record::Origin note_made(record::OperatorId op, c10::DeviceIndex index) {
  look_at_memory(index);
  return {Recorder::instance().note({PlacementKind::kMade, index, record::kHost, op}), record::kNoOperator};
}

record::Origin note_moved_to_host(record::OperatorId op, const at::Tensor& source) {
  record::Placement placement{PlacementKind::kMoved, record::kHost, index_of(source), op};
  placement.source = origin_of(source).placement;
  look_at_memory(placement.from);
  return {Recorder::instance().note(placement, source.nbytes()), record::kNoOperator};
}

void note_filled(record::OperatorId op, const at::Tensor& target, const at::Tensor& source) {
  if (!Recorder::instance().is_on()) return;
  const c10::DataPtr* memory = memory_of(target);
  if (memory == nullptr) return;
  look_at_memory(index_of(target));
  record::Origin origin = origin_of(*memory);
  if (origin.computed_by != record::kNoOperator) {
    note_refilled(op, target, source);
    return;
  }
  const record::PlacementId before = origin.placement;
  origin.placement =
      Recorder::instance().note_filled(before, op, index_of(source), origin_of(source).placement, source.nbytes());
  if (origin.placement == before) note_refilled(op, target, source);
  const bool is_copy = origin.placement != before && target.device() == source.device();
  if (is_copy && origin.placement == origin_of(source).placement) origin.computed_by = op;
  set_origin(*memory, origin);
}

void note_written(record::OperatorId op, const at::Tensor& target, const at::Tensor& source) {
  const c10::DataPtr* memory = memory_of(target);
  if (memory == nullptr || target.device() != source.device()) return;
  const record::Origin origin = origin_of(*memory);
  if (C10_LIKELY(!Recorder::is_latest(origin.placement) || origin.computed_by != record::kNoOperator)) return;
  const record::PlacementId from = origin_of(source).placement;
  const auto placement = Recorder::instance().note_filled(origin.placement, op, index_of(target), from, /*bytes=*/0);
  if (placement != origin.placement) set_origin(*memory, {placement, op});
}

void note_computed_from(record::OperatorId op, const at::Tensor& result, const at::Tensor& operand) {
  const c10::DataPtr* memory = memory_of(result);
  if (memory == nullptr || !Recorder::instance().is_on()) return;
  set_origin(*memory, {origin_of(operand).placement, op});
}

record::Origin note_made_on_host(record::OperatorId op) {
  if (C10_LIKELY(!Recorder::instance().is_on()) || has_origin()) return current_origin();
  return {Recorder::instance().note({PlacementKind::kMade, record::kHost, record::kHost, op}), record::kNoOperator};
}

void collect_live(std::vector<record::PlacementId>& live) {
  std::vector<memory::Tag> tags;
  for_each_device([&tags](EmulatedDevice& each) { each.allocator.collect_tags(tags); });
  for (const memory::Tag tag : tags) live.push_back(origin_of(tag).placement);
  for_each_device([&live](EmulatedDevice& each) {
    const auto peak = each.allocator.peak();
    if (peak != nullptr) live.push_back(static_cast<record::PlacementId>(peak->cause));
  });
}

record::Origin origin_of(const at::Tensor& tensor) noexcept {
  const c10::DataPtr* memory = tensor.defined() ? memory_of(tensor) : nullptr;
  return memory == nullptr ? record::Origin{} : origin_of(*memory);
}

void take_origin(record::Origin& origin, record::OperatorId op, const at::Tensor& operand) noexcept {
  if (origin.placement != record::kUnknownPlacement || !operand.defined() || !is_virtual(operand)) return;
  const record::PlacementId placement = origin_of(operand).placement;
  if (placement != record::kUnknownPlacement) origin = {placement, op};
}

void set_use(const at::Tensor& tensor, memory::Use use) noexcept {
  const c10::DataPtr* memory = tensor.defined() ? memory_of(tensor) : nullptr;
  memory::Block* block = memory == nullptr ? nullptr : block_of(*memory);
  if (block != nullptr) block->owner->set_use(block, use);
}

const memory::Block* block_of(const at::Tensor& tensor) noexcept {
  const c10::DataPtr* memory = tensor.defined() ? memory_of(tensor) : nullptr;
  return memory == nullptr ? nullptr : block_of(*memory);
}

}  // namespace devsan::emulate
