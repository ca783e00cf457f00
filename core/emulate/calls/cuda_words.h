#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>
#include <c10/util/Exception.h>

namespace devsan::emulate {

// NOTE [CUDA's words]
// The host's kernel refuses most of what CUDA's refuses, but it says so in its own words: a dispatch macro names the
// kernel that it stands in, and an index that is out of range is an exception on the host and an assertion inside of the
// kernel on a GPU. Most of what is said before the kernel stands in code that both share, so little else has to be said again.
// A real GPU reports its assertion at some later call and answers nothing from then on; here the call that is at fault
// raises it, as with CUDA_LAUNCH_BLOCKING=1, together with a sentence that names the index.

/// Raises what CUDA raises where the CPU's kernel of an operator raised `error`. Returns where both say the same.
/// @param arguments the call's arguments at the end of this stack
void raise_in_words_of_cuda(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments,
                            const c10::Error& error);

}  // namespace devsan::emulate
