#include "emulate/calls/host_tensors.h"

#include "emulate/runtime/charged_memory.h"
#include "emulate/runtime/layouts.h"
#include "emulate/runtime/origin.h"
#include "emulate/runtime/storage.h"

namespace devsan::emulate {

/// The virtual storage of the operand, or of the sparse operand's member, that lies over `host`; null for memory that is
/// no operand's.
const c10::Storage* HostTensors::storage_over(const c10::Storage& host) const {
  for (const Pair& pair : pairs_) {
    const c10::TensorImpl* impl = pair.tensor->unsafeGetTensorImpl();
    if (C10_LIKELY(impl->has_storage())) {
      if (is_over(impl->unsafe_storage(), host)) return &impl->unsafe_storage();
      continue;
    }
    for (const at::Tensor& member : sparse_members(*pair.tensor)) {
      const c10::Storage& storage = member.unsafeGetTensorImpl()->unsafe_storage();
      if (is_over(storage, host)) return &storage;
    }
  }
  return nullptr;
}

record::Origin HostTensors::origin(record::OperatorId op) const {
  // The first operand that says something: an empty one (a key cache that nothing was put into) has no memory to say it.
  for (const Pair& pair : pairs_) {
    const c10::TensorImpl* impl = pair.alias.unsafeGetTensorImpl();
    if (C10_UNLIKELY(!impl->has_storage())) continue;
    const record::PlacementId placement = origin_of(impl->unsafe_storage().data_ptr()).placement;
    if (C10_LIKELY(placement != record::kUnknownPlacement)) return {placement, op};
  }
  return {record::kUnknownPlacement, op};
}

void HostTensors::note_writes(record::OperatorId op) const {
  const Pair* read = nullptr;
  for (const Pair& pair : pairs_) {
    if (!pair.written && origin_of(*pair.tensor).placement != record::kUnknownPlacement) {
      read = &pair;
      break;
    }
  }
  if (read == nullptr) return;
  for (const Pair& pair : pairs_) {
    if (pair.written) note_written(op, *pair.tensor, *read->tensor);
  }
}

at::Tensor HostTensors::take_back(at::Tensor&& host, c10::Device device) const {
  if (!host.defined() || !host.device().is_cpu()) return std::move(host);
  const c10::TensorImpl* impl = host.unsafeGetTensorImpl();
  // What nobody else holds is no operand's: neither the tensor nor its memory.
  if (C10_LIKELY(host.use_count() == 1 && impl->has_storage() && impl->unsafe_storage().use_count() == 1)) {
    return adopt(std::move(host), device);
  }
  for (const Pair& pair : pairs_) {
    if (pair.alias.unsafeGetTensorImpl() == impl) return *pair.tensor;
  }
  if (C10_UNLIKELY(impl == host_written_)) return std::move(host);
  if (C10_UNLIKELY(!impl->has_storage())) {
    return sparse_to_device(host, device,
                            [&](const at::Tensor& member) { return take_back(at::Tensor(member), device); });
  }
  const c10::Storage* storage = storage_over(impl->unsafe_storage());
  return storage != nullptr ? adopt_view(std::move(host), *storage) : adopt(std::move(host), device);
}

void HostTensors::follow_sparse_alias(const Pair& pair) const {
  const c10::Device device = pair.tensor->device();
  follow_sparse(*pair.tensor, pair.alias,
                [&](const at::Tensor& member) { return take_back(at::Tensor(member), device); });
}

}  // namespace devsan::emulate
