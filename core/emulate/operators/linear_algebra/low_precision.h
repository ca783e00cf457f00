#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

// What cuBLAS asks of products of 8-bit numbers and the host's kernel does not. They raise CUDA's sentence, and compute
// nothing. Matrices are [m, k] and [k, n].

/// aten/src/ATen/native/cuda/Blas.cpp, _int_mm_out_cuda.
void check_int_mm(const at::Tensor& self, const at::Tensor& mat2);

/// aten/src/ATen/native/cuda/ScaledBlas.cpp, _scaled_mm_out_cuda, on the current GPU. What the scales may look like is left
/// to the host's kernel.
/// @param out_type of the result
void check_scaled_mm(const at::Tensor& mat1, const at::Tensor& mat2, const at::Tensor& scale_a,
                     const at::Tensor& scale_b, const std::optional<at::Tensor>& bias, at::ScalarType out_type);

/// Whether the current GPU multiplies float8: compute capability 8.9, or 9.0 and later. Raises where it does not.
void check_scaled_mm_capability();

}  // namespace devsan::emulate
