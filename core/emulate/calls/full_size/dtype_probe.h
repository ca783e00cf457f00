#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

namespace devsan::emulate {

/// Whether the CPU's kernel of `op` refuses operands of several floating types, which Meta kernels do not compare (a product
/// of float32 and float16). Tried once for each operator and types, with operands of one element.
/// @param arguments CPU tensors among them
bool refuses_dtypes(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments);

}  // namespace devsan::emulate
