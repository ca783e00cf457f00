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

// What cuSPARSE has for compressed matrices and the CPU has not: carried out on dense copies of them.

/// aten::bmm.out and aten::baddbmm.out with a batch of compressed matrices as the first operand of the product.
at::Tensor& bmm_compressed_out(const at::Tensor& self, const at::Tensor& mat2, at::Tensor& out);
at::Tensor& baddbmm_compressed_out(const at::Tensor& self, const at::Tensor& batch1, const at::Tensor& batch2,
                                   const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out);

/// aten::_spsolve: x of `matrix` x = `right` (`is_left`), or of x `matrix` = `right`.
at::Tensor solve_compressed(const at::Tensor& matrix, const at::Tensor& right, bool is_left);

// Products with weights of four bits, in the layout that CUDA's tensor cores read
// (aten/src/ATen/native/cuda/int4mm.cu, matrix_to_m16n8k16_Bint4_layout): a checkpoint that was packed on a GPU can be
// read here, and the other way round.

/// aten::_convert_weight_to_int4pack.
/// @param weight uint8 [n, k / 2]: two weights a byte, the even one in the high half
/// @param inner_tiles 2, 4 or 8: tiles of 16 weights that lie side by side
/// @return int32 [n / 8, k / (inner_tiles * 16), 32, inner_tiles / 2]
at::Tensor pack_int4(const at::Tensor& weight, std::int64_t inner_tiles);

/// aten::_weight_int4pack_mm: the weights become (w - 8) * scale + zero in bfloat16; sums are made in float32.
/// @param input bfloat16 [m, k]
/// @param scales_and_zeros bfloat16 [k / group, n, 2]
/// @return bfloat16 [m, n]
at::Tensor int4_mm(const at::Tensor& input, const at::Tensor& packed, std::int64_t group,
                   const at::Tensor& scales_and_zeros);

}  // namespace devsan::emulate
