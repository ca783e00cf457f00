#include "emulate/operators/copy.h"

#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_to_copy_native.h>

#include "emulate/calls/host_tensors.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/gpu_trace.h"
#include "emulate/runtime/host_allocator.h"
#include "emulate/runtime/origin.h"
#include "emulate/runtime/storage.h"
#include "emulate/runtime/tensor.h"

namespace devsan::emulate {

namespace {

record::OperatorId copy_operator() {
  static const record::OperatorId id = record::Recorder::instance().intern("aten::_to_copy");
  return id;
}

}  // namespace

at::Tensor to_copy(const at::Tensor& self, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                   std::optional<at::Device> device, std::optional<bool> pin_memory, bool non_blocking,
                   std::optional<at::MemoryFormat> memory_format) {
  const bool leaves = device.has_value() && device->is_cpu();
  const OriginScope scope(leaves ? note_moved_to_host(copy_operator(), self) : record::Origin{});
  return at::native::_to_copy(self, dtype, layout, device, pin_memory, non_blocking, memory_format);
}

at::Tensor& copy_(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  const at::AutoDispatchBelowADInplaceOrView below;
  at::Tensor target = on_host(self);
  target.copy_(on_host(source), non_blocking);
  note_filled(copy_operator(), self, source);
  trace_copy(self, source, non_blocking);
  return self;
}

at::Tensor& copy_any_layout_(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  const at::AutoDispatchBelowADInplaceOrView below;
  const DeviceScope scope(self.is_cuda() ? self.device().index() : source.device().index());
  HostTensors tensors;
  at::Tensor target =
      is_virtual(self) ? tensors.alias(c10::MaybeOwned<at::Tensor>::borrowed(self), /*written=*/true) : self;
  target.copy_(on_host(source), non_blocking);
  tensors.follow_writes();
  return self;
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& destination, bool non_blocking) {
  at::Tensor target = destination;
  return copy_(target, self, non_blocking);
}

at::Tensor& set_storage(at::Tensor& self, at::Storage source, std::int64_t offset, at::IntArrayRef size,
                        at::IntArrayRef stride) {
  // The words of aten/src/ATen/native/Resize.h, checkSetStorage.
  TORCH_CHECK(self.storage().device() == source.device(), "Attempted to set the storage of a tensor on device \"",
              self.storage().device(), "\" to a storage on different device \"", source.device(),
              "\".  This is no longer allowed; the devices must match.");
  TORCH_CHECK(offset >= 0, "Tensor: invalid storage offset ", offset);
  c10::TensorImpl* impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(source);
  impl->set_storage_offset(offset);
  if (stride.data() != nullptr) {
    impl->set_sizes_and_strides(size, stride);
  } else {
    impl->set_sizes_contiguous(size);
  }
  const size_t needed = at::detail::computeStorageNbytes(impl->sizes(), impl->strides(), impl->dtype().itemsize(),
                                                         static_cast<size_t>(offset));
  if (impl->numel() != 0 && needed > source.nbytes()) resize(*source.unsafeGetStorageImpl(), needed);
  return self;
}

at::Tensor& set_whole_storage(at::Tensor& self, at::Storage source) {
  const auto length = static_cast<std::int64_t>(source.nbytes() / self.dtype().itemsize());
  return set_storage(self, std::move(source), 0, {length}, {});
}

at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
  TORCH_CHECK(self.dtype() == source.dtype(), "Could not set tensor of type ", source.dtype(), " to a tensor of type ",
              self.dtype());
  return set_storage(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

at::Tensor& set_empty(at::Tensor& self) {
  c10::Storage none = allocate_virtual_storage(0, self.device());
  self.unsafeGetTensorImpl()->set_storage_keep_dtype(std::move(none));
  self.unsafeGetTensorImpl()->set_storage_offset(0);
  self.unsafeGetTensorImpl()->set_sizes_contiguous({0});
  return self;
}

void record_stream_of(at::Tensor& self, at::Stream stream) { record_stream(self.storage().data_ptr(), stream.id()); }

bool has_compatible_shallow_copy_type(const at::Tensor& self, const at::Tensor& from) {
  const auto dense = [](const at::Tensor& tensor) {
    return tensor.key_set().has_any(c10::DispatchKeySet(c10::DispatchKey::Dense));
  };
  return dense(self) == dense(from) && self.layout() == from.layout();
}

}  // namespace devsan::emulate
