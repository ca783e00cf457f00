#pragma once

#include <torch/library.h>

namespace devsan::intercept {

/// Registers the kernels that are written by hand: in `library`, on the key of emulated tensors, and in `autograd`, on
/// its autograd key.
void register_hand_written(torch::Library& library, torch::Library& autograd);

// Its families, each in a file of its name.

/// Registers kernels for the operators that torch has for CUDA and not for the CPU: those that can be computed from
/// operators that the CPU has, and, in torch's words, the refusals of libraries that are not there. What is in neither
/// list is refused by `call_any_operator`.
void register_cuda_only(torch::Library& library);

/// The same for another layout's key, `host` being that of its CPU tensors: see NOTE [Quantized tensors on an emulated
/// GPU] and emulate/operators/linear_algebra/products.h.
void register_cuda_only_layout(torch::Library& library, c10::DispatchKey host);

/// Half precision, which some kernels of the CPU refuse (NOTE [Reduced precision that the CPU lacks]).
///
/// Transforms are computed in float32; cuFFT's refusal of sizes that are no powers of two comes before
/// (aten/src/ATen/native/cuda/CuFFTPlanCache.h).
///
/// `softmax(half, dtype=torch.float32)`: CUDA's kernels convert while they compute, the CPU's refuse
/// (aten/src/ATen/native/SoftMax.cpp, softmax; aten/src/ATen/native/cuda/SoftMax.cu). Here the input is converted first.
///
/// Layer normalization: CUDA keeps mean and inverse deviation in float32 (aten/src/ATen/native/cuda/layer_norm_kernel.cu), the
/// CPU in the type of the input.
void register_half_precision(torch::Library& library);

/// Registers the operators of torch.linalg with an argument that CUDA and the CPU take differently: the `driver` of svd
/// and lstsq names a routine of cuSOLVER's or LAPACK's, and only CUDA has an LU without pivoting.
void register_linear_algebra(torch::Library& library);

/// Registers the operators that CUDA has for more types than the CPU: `abs` and `trace` of bool, `histc` of integers,
/// `nansum` of complex numbers. The reduced precisions are another matter: see emulate/calls/cpu_call.h.
void register_types_of_cuda(torch::Library& library);

}  // namespace devsan::intercept
