#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

/// Matrix products whose result is wider than their operands (`out_dtype=`), which CUDA alone has: the operands are
/// upcast first.

at::Tensor mm_to(const at::Tensor& self, const at::Tensor& mat2, at::ScalarType dtype);
at::Tensor& mm_to_out(const at::Tensor& self, const at::Tensor& mat2, at::ScalarType dtype, at::Tensor& out);
at::Tensor bmm_to(const at::Tensor& self, const at::Tensor& mat2, at::ScalarType dtype);
at::Tensor& bmm_to_out(const at::Tensor& self, const at::Tensor& mat2, at::ScalarType dtype, at::Tensor& out);
at::Tensor addmm_to(const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2, at::ScalarType dtype,
                    const at::Scalar& beta, const at::Scalar& alpha);
at::Tensor& addmm_to_out(const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2, at::ScalarType dtype,
                         const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out);
at::Tensor baddbmm_to(const at::Tensor& self, const at::Tensor& batch1, const at::Tensor& batch2, at::ScalarType dtype,
                      const at::Scalar& beta, const at::Scalar& alpha);
at::Tensor& baddbmm_to_out(const at::Tensor& self, const at::Tensor& batch1, const at::Tensor& batch2,
                           at::ScalarType dtype, const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out);

}  // namespace devsan::emulate
