#pragma once

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

}  // namespace devsan::emulate
