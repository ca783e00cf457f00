#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

/// The two halves of a semi-structured matrix, on the CPU. See NOTE [Semi-structured sparsity].
struct SemiStructured {
  at::Tensor values;  ///< [rows, columns / 2]
  /// uint8 [rows, groups]: bits 0 and 1 the place of the first value in its group, bits 2 and 3 that of the second.
  at::Tensor codes;

  /// Keeps two values of each group of `dense`, [rows, columns]: those that are not zero, where no more than two are.
  static SemiStructured of(const at::Tensor& dense);

  /// The matrix, zeros where it has no value.
  at::Tensor dense() const;
};

/// Codes as CUTLASS has them: int16 (int32 for int8 values) [rows, groups / 4 or 8], elements in its own order; back.
at::Tensor to_cutlass(const SemiStructured& matrix);
SemiStructured from_cutlass(const at::Tensor& values, const at::Tensor& codes);

/// The whole in one run of values' type, values first, two codes a byte after them; back. `columns` of the dense matrix.
at::Tensor to_run(const SemiStructured& matrix);
SemiStructured from_run(const at::Tensor& run, std::int64_t columns);

}  // namespace devsan::emulate
