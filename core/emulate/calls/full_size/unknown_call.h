#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "emulate/calls/cpu_call.h"

namespace devsan::emulate {

/// Carries out `op` with the arguments at the end of `stack`, CPU tensors, of which some are unknown: see NOTE [Tensors
/// without numbers]. Views and composites run as they are. What has an untouched operand computes nothing; what has only
/// small ones computes with their stand-ins. Results and written operands are unknown then.
/// @param below the keys of the kernel that would carry out the call with numbers
void call_unknown(const c10::OperatorHandle& op, const CallPlan& plan, c10::DispatchKeySet below,
                  torch::jit::Stack* stack);

}  // namespace devsan::emulate
