#pragma once

#include <torch/library.h>

namespace devsan::intercept {

/// Registers the operators that CUDA has for more types than the CPU: `abs` and `trace` of bool, `histc` of integers,
/// `nansum` of complex numbers. The reduced precisions are another matter: see emulate/calls/upcast.h.
void register_types_of_cuda(torch::Library& library);

}  // namespace devsan::intercept
