#include "emulate/calls/expected_results.h"

#include <algorithm>

#include <ATen/EmptyTensor.h>
#include <ATen/core/List.h>
#include <c10/util/Exception.h>

namespace devsan::emulate {
namespace {

/// Whether `argument` has a counterpart on the meta device, which it becomes: same sizes, strides and dtype.
bool to_meta(c10::IValue& argument);

at::Tensor meta_of(const at::Tensor& tensor) {
  return at::detail::empty_strided_meta(tensor.sizes(), tensor.strides(), tensor.scalar_type());
}

bool list_to_meta(c10::IValue& argument) {
  c10::List<c10::IValue> list = argument.toList().copy();
  for (std::size_t i = 0; i < list.size(); ++i) {
    c10::IValue element = list.get(i);
    if (!to_meta(element)) return false;
    list.set(i, std::move(element));
  }
  argument = std::move(list);
  return true;
}

bool to_meta(c10::IValue& argument) {
  if (argument.isTensor()) {
    const at::Tensor& tensor = argument.toTensor();
    if (!tensor.defined() || tensor.unsafeGetTensorImpl()->is_wrapped_number()) return true;
    if (!tensor.unsafeGetTensorImpl()->has_storage() || tensor.is_quantized() || tensor.is_nested()) return false;
    argument = meta_of(tensor);
  } else if (argument.isDevice()) {
    argument = c10::Device(c10::DeviceType::Meta);
  } else if (argument.isGenerator()) {
    return false;  // its kernel may hold the lock of the generator
  } else if (argument.isList()) {
    const auto elements = argument.toListRef();
    if (!elements.empty() && (elements.front().isTensor() || elements.front().isNone())) return list_to_meta(argument);
  }
  return true;
}

void add_sizes(const c10::IValue& result, std::vector<size_t>& sizes) {
  if (result.isTensor()) {
    const at::Tensor& tensor = result.toTensor();
    if (!tensor.defined() || !tensor.unsafeGetTensorImpl()->has_storage()) return;
    sizes.push_back(tensor.storage().nbytes());  // an operand too: the kernel may have resized it
  } else if (result.isTensorList()) {
    for (const c10::IValue& element : result.toListRef()) add_sizes(element, sizes);
  }
}

}  // namespace

bool ResultsOfMeta::take(size_t bytes) {
  if (!is_found_) {
    is_found_ = true;
    find();
  }
  if (!is_known_) return true;
  const auto found = std::find(sizes_.begin(), sizes_.end(), bytes);
  if (found == sizes_.end()) return false;
  sizes_.erase(found);
  return true;
}

void ResultsOfMeta::find() {
  if (!op_.hasKernelForDispatchKey(c10::DispatchKey::Meta)) return;
  torch::jit::Stack stack = arguments();
  if (stack.size() != op_.schema().arguments().size()) return;
  for (c10::IValue& argument : stack) {
    if (!to_meta(argument)) return;
  }
  try {
    const DeviceScope uncharged(/*index=*/-1);
    op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), &stack);
  } catch (const std::exception&) {
    return;  // the CPU kernel says what is wrong
  }
  for (const c10::IValue& result : stack) add_sizes(result, sizes_);
  is_known_ = true;
}

}  // namespace devsan::emulate
