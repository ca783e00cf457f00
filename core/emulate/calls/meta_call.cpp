#include "emulate/calls/meta_call.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/List.h>

#include "emulate/runtime/full_size/unknown.h"
#include "emulate/runtime/host_allocator.h"

namespace devsan::emulate {
namespace {

at::Tensor meta_of(const at::Tensor& tensor) {
  return at::detail::empty_strided_meta(tensor.sizes(), tensor.strides(), tensor.scalar_type());
}

bool is_mask(const c10::IValue& element) {
  if (!element.isTensor() || !element.toTensor().defined()) return false;
  const at::ScalarType dtype = element.toTensor().scalar_type();
  return dtype == at::kBool || dtype == at::kByte;
}

bool list_to_meta(c10::IValue& argument) {
  c10::List<c10::IValue> list = argument.toList().copy();
  const bool has_absent = list.elementType()->kind() == c10::TypeKind::OptionalType;
  for (std::size_t i = 0; i < list.size(); ++i) {
    c10::IValue element = list.get(i);
    if (has_absent && is_mask(element)) continue;
    if (!to_meta(element)) return false;
    list.set(i, std::move(element));
  }
  argument = std::move(list);
  return true;
}

}  // namespace

bool to_meta(c10::IValue& argument) {
  if (argument.isTensor()) {
    const at::Tensor& tensor = argument.toTensor();
    if (!tensor.defined() || tensor.unsafeGetTensorImpl()->is_wrapped_number()) return true;
    if (!tensor.unsafeGetTensorImpl()->has_storage() || tensor.is_quantized() || tensor.is_nested()) return false;
    argument = meta_of(tensor);
  } else if (argument.isDevice()) {
    argument = c10::Device(c10::DeviceType::Meta);
  } else if (argument.isGenerator()) {
    argument = c10::IValue();  // a Meta kernel draws nothing; the kernel that asks may hold the lock of the generator
  } else if (argument.isList()) {
    const auto elements = argument.toListRef();
    if (!elements.empty() && (elements.front().isTensor() || elements.front().isNone())) return list_to_meta(argument);
  }
  return true;
}

void call_converted_meta(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const DeviceScope uncharged(/*index=*/-1);
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), &stack);
}

bool call_meta_kernel(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  if (!op.hasKernelForDispatchKey(c10::DispatchKey::Meta)) return false;
  for (c10::IValue& argument : stack) {
    if (!to_meta(argument)) return false;
  }
  call_converted_meta(op, stack);
  return true;
}

}  // namespace devsan::emulate
