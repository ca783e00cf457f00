#pragma once

#include <string_view>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace devsan::guard {

// NOTE [torch's own checks]
// A structured operator is a meta function, the same for every backend, and a kernel for each. The meta function infers the
// result's size, and on the way it raises what CUDA raises: TensorIterator's sentences about devices, about sizes that do
// not broadcast, in the order that they have, and that of an out= tensor on another device. torch exports these functions
// (at::meta::), so a call whose tensors are apart is checked by torch itself. In Python they are hidden behind the meta
// kernels of torch/_meta_registrations.py, which check less; the dispatcher is therefore not asked.

/// Calls the meta function of `op` with the arguments at the end of `arguments`, if it is the one that compares devices, or
/// the operator's dtypes are looked at (guard/dtype_check): sizes come before what the kernel is compiled for.
/// @return false when `op` has no such meta function, and nothing was checked
/// @throws c10::Error in torch's words, where torch refuses the call
bool ask_meta_function(std::string_view op, const c10::FunctionSchema& schema, const torch::jit::Stack& arguments);

}  // namespace devsan::guard
