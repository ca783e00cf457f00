#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

// What cuSPARSE has for compressed matrices and the CPU has not: carried out on dense copies of them.

/// aten::bmm.out and aten::baddbmm.out with a batch of compressed matrices as the first operand of the product.
at::Tensor& bmm_compressed_out(const at::Tensor& self, const at::Tensor& mat2, at::Tensor& out);
at::Tensor& baddbmm_compressed_out(const at::Tensor& self, const at::Tensor& batch1, const at::Tensor& batch2,
                                   const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out);

/// aten::_spsolve: x of `matrix` x = `right` (`is_left`), or of x `matrix` = `right`.
at::Tensor solve_compressed(const at::Tensor& matrix, const at::Tensor& right, bool is_left);

}  // namespace devsan::emulate
