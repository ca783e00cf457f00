#pragma once

#include <utility>

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace devsan::emulate {

/// Calls `visit` with each tensor of an argument or a result: it may be one, a list of them, or a list with gaps.
template <typename Visit>
void for_each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) for_each_tensor(element, visit);
  }
}

/// Puts what `change` makes of it in the place of the tensor of `value`, or of each of its list.
template <typename Change>
void change_each_tensor(c10::IValue& value, const Change& change) {
  if (value.isTensor()) {
    value = change(value.toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> tensors;
    for (const c10::IValue& element : value.toListRef()) tensors.push_back(change(element.toTensor()));
    value = std::move(tensors);
  }
}

}  // namespace devsan::emulate
