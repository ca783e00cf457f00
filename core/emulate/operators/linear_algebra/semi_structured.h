#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/SymInt.h>

namespace devsan::emulate {

// NOTE [Semi-structured sparsity]
// A semi-structured (2:4 sparse) matrix keeps two values of each four (of float32: one of each two), and for each group a
// code that says which. CUTLASS's form is a matrix of values and one of codes, whose elements lie in an order of their
// own; cuSPARSELt's is one opaque run of both. Here such a matrix becomes dense for the product, which the CPU has. The
// first form is laid out as torch's Python does it (torch/sparse/_semi_structured_conversions.py); the second is of the
// size that cuSPARSELt asks for and not of its order, which nobody but cuSPARSELt reads.

/// aten::_to_sparse_semi_structured: CUTLASS's form of a dense matrix. @return values, codes
std::tuple<at::Tensor, at::Tensor> to_semi_structured(const at::Tensor& dense);

/// aten::_sparse_semi_structured_mm, _addmm and _linear, of CUTLASS's form.
/// Without `out_dtype` int8 gives int8, cut off at its ends.
at::Tensor semi_structured_mm(const at::Tensor& values, const at::Tensor& codes, const at::Tensor& dense,
                              std::optional<at::ScalarType> out_dtype);
at::Tensor semi_structured_addmm(const at::Tensor& input, const at::Tensor& values, const at::Tensor& codes,
                                 const at::Tensor& dense, const at::Scalar& alpha, const at::Scalar& beta,
                                 std::optional<at::ScalarType> out_dtype);
at::Tensor semi_structured_linear(const at::Tensor& input, const at::Tensor& values, const at::Tensor& codes,
                                  const std::optional<at::Tensor>& bias, std::optional<c10::string_view> activation,
                                  std::optional<at::ScalarType> out_dtype);

/// aten::_cslt_compress: cuSPARSELt's form of a dense matrix.
at::Tensor cslt_compress(const at::Tensor& dense);

/// aten::_cslt_sparse_mm: alpha * compressed @ dense + bias, a bias per row. The last three choose an algorithm.
/// @param transposed the result is [columns, rows]
at::Tensor cslt_mm(const at::Tensor& compressed, const at::Tensor& dense, const std::optional<at::Tensor>& bias,
                   const std::optional<at::Tensor>& alpha, std::optional<at::ScalarType> out_dtype, bool transposed,
                   std::int64_t algorithm, std::int64_t split_k, std::int64_t split_k_mode);

/// aten::_cslt_sparse_mm_search: there is one algorithm, number 0.
std::int64_t cslt_search(const at::Tensor& compressed, const at::Tensor& dense, const std::optional<at::Tensor>& bias,
                         const std::optional<at::Tensor>& alpha, std::optional<at::ScalarType> out_dtype,
                         bool transposed);

}  // namespace devsan::emulate
