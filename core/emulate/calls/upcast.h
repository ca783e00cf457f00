#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace devsan::emulate {

struct CallPlan;

// NOTE [Reduced precision that the CPU lacks]
// CUDA has a float16 (and bfloat16, complex32) kernel for nearly every operator; the CPU has not. Such a call is made
// again in float32 and its results are rounded, which is what most CUDA kernels of these types do inside.

/// Calls the kernel of `op` that `plan` names with the arguments at the end of `stack`, CPU tensors by now. Where the
/// kernel refuses a reduced precision ("not implemented for 'Half'"), makes the call again in the wider type, and brings
/// results and written operands back to the narrow one.
void run_kernel(const c10::OperatorHandle& op, const CallPlan& plan, torch::jit::Stack* stack);

}  // namespace devsan::emulate
