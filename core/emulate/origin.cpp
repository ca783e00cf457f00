#include "emulate/origin.h"

#include "emulate/storage.h"

namespace devsan::emulate {
namespace {

using record::Placement;
using record::PlacementKind;
using record::Recorder;

std::int8_t index_of(const at::Tensor& tensor) { return tensor.is_cuda() ? tensor.get_device() : record::kHost; }

const c10::DataPtr* memory_of(const at::Tensor& tensor) noexcept {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  if (!impl->has_storage()) return nullptr;
  const c10::StorageImpl* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  if (!is_virtual(*storage)) return &storage->data_ptr();
  return &static_cast<const c10::StorageImpl*>(storage->data_ptr().get_context())->data_ptr();
}

}  // namespace

record::Origin note_made(record::OperatorId op, c10::DeviceIndex index) {
  return {Recorder::instance().note({PlacementKind::kMade, index, record::kHost, op}), record::kNoOperator};
}

record::Origin note_moved_to_host(record::OperatorId op, const at::Tensor& source) {
  Placement placement{PlacementKind::kMoved, record::kHost, index_of(source), op};
  placement.source = origin_of(source).placement;
  return {Recorder::instance().note(placement, source.nbytes()), record::kNoOperator};
}

void note_filled(record::OperatorId op, const at::Tensor& target, const at::Tensor& source) {
  if (!Recorder::instance().is_on()) return;
  const c10::DataPtr* memory = memory_of(target);
  if (memory == nullptr) return;
  record::Origin origin = origin_of(*memory);
  if (origin.computed_by != record::kNoOperator) return;
  origin.placement = Recorder::instance().note_filled(origin.placement, op, index_of(source),
                                                      origin_of(source).placement, source.nbytes());
  if (target.device() == source.device() && origin.placement == origin_of(source).placement) origin.computed_by = op;
  set_origin(*memory, origin);
}

record::Origin note_made_on_host(record::OperatorId op) {
  if (C10_LIKELY(!Recorder::instance().is_on()) || has_origin()) return {};
  return {Recorder::instance().note({PlacementKind::kMade, record::kHost, record::kHost, op}), record::kNoOperator};
}

record::Origin origin_of(const at::Tensor& tensor) noexcept {
  const c10::DataPtr* memory = tensor.defined() ? memory_of(tensor) : nullptr;
  return memory == nullptr ? record::Origin{} : origin_of(*memory);
}

}  // namespace devsan::emulate
