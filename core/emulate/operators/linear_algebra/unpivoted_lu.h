#pragma once

#include <tuple>

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

// LU factorization without pivoting, which LAPACK does not have and cuSOLVER does: from the definition, column by column.
// Shapes, strides and pivots are those of aten/src/ATen/native/BatchLinearAlgebra.cpp, linalg_lu_factor_ex and linalg_lu.

/// @param matrix [*, rows, columns]
/// @return the factors in one tensor [*, rows, columns], column after column in memory; the pivots of no permutation, int32
/// [*, min(rows, columns)] from 1; info, int32 [*]: the number, from 1, of the first pivot that is zero, or 0.
/// Raises LinAlgError for a zero pivot if `check_errors`.
std::tuple<at::Tensor, at::Tensor, at::Tensor> unpivoted_lu_factor(const at::Tensor& matrix, bool check_errors);

/// @return no permutation (an empty tensor), L [*, rows, min(rows, columns)], U [*, min(rows, columns), columns]
std::tuple<at::Tensor, at::Tensor, at::Tensor> unpivoted_lu(const at::Tensor& matrix);

/// Puts `result` into `out`, which is given its size, and its strides if that is another.
void write_factor(const at::Tensor& result, const at::Tensor& out);

}  // namespace devsan::emulate
