#include "emulate/operators/factories.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/_pin_memory_native.h>
#include <ATen/ops/arange_native.h>
#include <ATen/ops/empty_native.h>
#include <ATen/ops/empty_strided_native.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "emulate/runtime/device.h"
#include "emulate/runtime/full_size/unknown.h"
#include "emulate/runtime/host_allocator.h"
#include "emulate/runtime/origin.h"
#include "emulate/runtime/tensor.h"

namespace devsan::emulate {
namespace {

c10::Device place(std::optional<at::Device> device, std::optional<bool> pin_memory) {
  // The words of aten/src/ATen/native/cuda/EmptyTensor.cpp.
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
  // The key's own device type stands for the current GPU.
  return resolve(device.has_value() && device->is_cuda() ? *device : at::Device(at::kCUDA));
}

record::OperatorId empty_operator() {
  static const record::OperatorId id = record::Recorder::instance().intern("aten::empty");
  return id;
}

record::OperatorId pin_operator() {
  static const record::OperatorId id = record::Recorder::instance().intern("aten::pin_memory");
  return id;
}

/// A CPU tensor, without numbers where it is large: see NOTE [Tensors without numbers].
at::Tensor host_empty(at::IntArrayRef size, at::ScalarType dtype, std::optional<at::MemoryFormat> memory_format) {
  if (C10_UNLIKELY(FullSize::is_on()) &&
      FullSize::leaves_out(at::detail::computeStorageNbytesContiguous(size, at::elementSize(dtype)), dtype)) {
    return make_unknown(size, dtype, memory_format);
  }
  return at::detail::empty_cpu(size, dtype, /*pin_memory=*/false, memory_format);
}

at::Tensor host_empty_strided(at::IntArrayRef size, at::IntArrayRef stride, at::ScalarType dtype) {
  if (C10_UNLIKELY(FullSize::is_on()) &&
      FullSize::leaves_out(at::detail::computeStorageNbytes(size, stride, at::elementSize(dtype)), dtype)) {
    return make_unknown(size, stride, dtype);
  }
  return at::detail::empty_strided_cpu(size, stride, dtype, /*pin_memory=*/false);
}

/// Not what torch makes of Python's data, which it writes by itself, and not what must be memory of a certain kind.
bool may_leave_out(std::optional<at::Layout> layout, std::optional<bool> pin_memory) {
  return layout.value_or(at::kStrided) == at::kStrided && !pin_memory.value_or(false) &&
         !c10::impl::tls_is_dispatch_key_excluded(kUnknownKey);
}

/// torch.utils.deterministic.fill_uninitialized_memory, as at::native::empty_cuda heeds it.
at::Tensor filled_if_deterministic(at::Tensor tensor) {
  const at::Context& context = at::globalContext();
  if (C10_UNLIKELY(context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory())) {
    at::native::fill_empty_deterministic_(tensor);
  }
  return tensor;
}

}  // namespace

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout> /*layout*/,
                 std::optional<at::Device> device, std::optional<bool> pin_memory,
                 std::optional<at::MemoryFormat> memory_format) {
  const c10::Device target = place(device, pin_memory);
  const DeviceScope scope(target.index(), note_made(empty_operator(), target.index()));
  return filled_if_deterministic(adopt(host_empty(size, at::dtype_or_default(dtype), memory_format), target));
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout> /*layout*/, std::optional<at::Device> device,
                         std::optional<bool> pin_memory) {
  const c10::Device target = place(device, pin_memory);
  const DeviceScope scope(target.index(), note_made(empty_operator(), target.index()));
  return filled_if_deterministic(adopt(host_empty_strided(size, stride, at::dtype_or_default(dtype)), target));
}

// A scope that is open already says where their memory comes from, and note_made_on_host says it again.
at::Tensor empty_on_host(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                         std::optional<at::Device> device, std::optional<bool> pin_memory,
                         std::optional<at::MemoryFormat> memory_format) {
  const OriginScope scope(note_made_on_host(empty_operator()));
  if (C10_UNLIKELY(FullSize::is_on()) && may_leave_out(layout, pin_memory)) {
    return host_empty(size, at::dtype_or_default(dtype), memory_format);
  }
  return at::native::empty_cpu(size, dtype, layout, device, pin_memory, memory_format);
}

at::Tensor empty_strided_on_host(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                                 std::optional<at::Layout> layout, std::optional<at::Device> device,
                                 std::optional<bool> pin_memory) {
  const OriginScope scope(note_made_on_host(empty_operator()));
  if (C10_UNLIKELY(FullSize::is_on()) && may_leave_out(layout, pin_memory)) {
    return host_empty_strided(size, stride, at::dtype_or_default(dtype));
  }
  return at::native::empty_strided_cpu(size, stride, dtype, layout, device, pin_memory);
}

// torch makes an empty tensor first, whose memory only comes with this.
at::Tensor& arange_out_on_host(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step,
                               at::Tensor& out) {
  const OriginScope scope(note_made_on_host(empty_operator()));
  return at::native::arange_out(start, end, step, out);
}

at::Tensor pin_on_host(const at::Tensor& self, std::optional<at::Device> device) {
  const OriginScope scope({origin_of(self).placement, pin_operator()});
  return at::native::_pin_memory(self, device);
}

void make_on_host(const c10::OperatorHandle& op, const CallPlan& plan, torch::jit::Stack* stack) {
  std::optional<at::Device> requested;
  for (auto value = stack->end() - static_cast<std::ptrdiff_t>(plan.arguments); value != stack->end(); ++value) {
    if (value->isDevice()) requested = value->toDevice();
  }
  call_on_cpu(op, plan, stack, place(requested, std::nullopt));
}

}  // namespace devsan::emulate
