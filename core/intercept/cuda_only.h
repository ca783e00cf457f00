#pragma once

#include <torch/library.h>

namespace devsan::intercept {

/// Registers kernels for the operators that torch has for CUDA and not for the CPU: those that can be computed from
/// operators that the CPU has, and, in torch's words, the refusals of libraries that are not there. What is in neither
/// list is refused by `call_any_operator`.
void register_cuda_only(torch::Library& library);

/// The same for another layout's key, `host` being that of its CPU tensors: see NOTE [Quantized tensors on an emulated
/// GPU] and emulate/operators/linear_algebra/sparse_products.h.
void register_cuda_only_layout(torch::Library& library, c10::DispatchKey host);

}  // namespace devsan::intercept
