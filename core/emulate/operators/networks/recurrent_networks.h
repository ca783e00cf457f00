#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "emulate/calls/cpu_call.h"

namespace devsan::emulate {

// NOTE [cuDNN's recurrent networks]
// Where cuDNN takes a recurrent network (aten/src/ATen/native/RNN.cpp, use_cudnn), CUDA does what the host's composite
// does not: under autocast it computes in float16, whatever the type of autocast is (aten/src/ATen/cudnn/AutocastRNN.cpp);
// it keeps a reserve for the backward in place of what the composite saves; it has no backward of a network in evaluation
// mode, and none of a backward. The numbers are the composite's: see NOTE [CPU fallback] in emulate/calls/cpu_fallback.h.

/// Carries out `op`, a recurrent network or one of its cells, on the host; its arguments are at the end of `stack`.
void call_recurrent(const c10::OperatorHandle& op, const CallPlan& plan, torch::jit::Stack* stack, c10::Device device);

}  // namespace devsan::emulate
