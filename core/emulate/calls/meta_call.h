#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace devsan::emulate {

// An operator's Meta kernel says what a call would return, without computing it.

/// Turns an argument into its counterpart on the meta device: same sizes, strides and dtype. A mask that chooses elements
/// (a boolean tensor in a list of indices) stays as it is, since the result's size depends on what is in it.
/// @return false where there is no counterpart
bool to_meta(c10::IValue& argument);

/// Calls the Meta kernel of `op`, which it has, with the arguments in `stack`, converted by `to_meta`; they become the
/// results, on the meta device. Nothing is charged to a GPU meanwhile.
/// Raises what the kernel raises.
void call_converted_meta(const c10::OperatorHandle& op, torch::jit::Stack& stack);

/// Calls the Meta kernel of `op` with the arguments in `stack`, which hold the results afterwards, on the meta device.
/// Nothing is charged to a GPU meanwhile.
/// @return false, and `stack` in no certain state, where there is no such kernel or an argument has no counterpart
/// Raises what the kernel raises.
bool call_meta_kernel(const c10::OperatorHandle& op, torch::jit::Stack& stack);

}  // namespace devsan::emulate
