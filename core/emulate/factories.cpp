#include "emulate/factories.h"

#include <ATen/EmptyTensor.h>

#include "emulate/device.h"
#include "emulate/host_allocator.h"
#include "emulate/tensor.h"

namespace devsan::emulate {
namespace {

c10::Device place(std::optional<at::Device> device, std::optional<bool> pin_memory) {
  // The words of aten/src/ATen/native/cuda/EmptyTensor.cpp.
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
  // The key's own device type stands for the current GPU.
  return resolve(device.has_value() && device->is_cuda() ? *device : at::Device(at::kCUDA));
}

}  // namespace

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout> /*layout*/,
                 std::optional<at::Device> device, std::optional<bool> pin_memory,
                 std::optional<at::MemoryFormat> memory_format) {
  const c10::Device target = place(device, pin_memory);
  const DeviceScope scope(target.index());
  return adopt(at::detail::empty_cpu(size, at::dtype_or_default(dtype), /*pin_memory=*/false, memory_format), target);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout> /*layout*/, std::optional<at::Device> device,
                         std::optional<bool> pin_memory) {
  const c10::Device target = place(device, pin_memory);
  const DeviceScope scope(target.index());
  return adopt(at::detail::empty_strided_cpu(size, stride, at::dtype_or_default(dtype), /*pin_memory=*/false), target);
}

void make_on_host(const c10::OperatorHandle& op, const CallPlan& plan, torch::jit::Stack* stack) {
  std::optional<at::Device> requested;
  for (auto value = stack->end() - static_cast<std::ptrdiff_t>(plan.arguments); value != stack->end(); ++value) {
    if (value->isDevice()) requested = value->toDevice();
  }
  call_on_host(op, plan, stack, place(requested, std::nullopt));
}

}  // namespace devsan::emulate
