#include "emulate/operators/linear_algebra/low_precision.h"

#include <utility>

#include <c10/util/Exception.h>

#include "emulate/runtime/device.h"
#include "emulate/runtime/torch_release.h"

namespace devsan::emulate {
namespace {

std::pair<int, int> capability() {
  const model::DeviceSpec& spec = device(current_device()).spec;
  return {spec.major, spec.minor};
}

void check_matrices(const at::Tensor& mat1, const at::Tensor& mat2) {
  TORCH_CHECK(mat1.dim() == 2, "mat1 must be a matrix");
  TORCH_CHECK(mat2.dim() == 2, "mat2 must be a matrix");
  TORCH_CHECK(mat1.size(1) == mat2.size(0), "mat1 and mat2 shapes cannot be multiplied (", mat1.size(0), "x",
              mat1.size(1), " and ", mat2.size(0), "x", mat2.size(1), ")");
}

void check_divisible(const at::Tensor& mat1, const at::Tensor& mat2) {
  TORCH_CHECK(mat1.size(1) % 16 == 0, "Expected trailing dimension of mat1 to be divisible by 16 but got mat1 shape: (",
              mat1.size(0), "x", mat1.size(1), ").");
  TORCH_CHECK(mat2.size(0) % 16 == 0 && mat2.size(1) % 16 == 0, "mat2 shape (", mat2.size(0), "x", mat2.size(1),
              ") must be divisible by 16");
}

void check_type_of_bias(const at::Tensor& bias, at::ScalarType out) {
  const at::ScalarType type = bias.scalar_type();
  TORCH_CHECK(out != at::kFloat, "Bias is not supported when out_dtype is set to Float32");
  TORCH_CHECK(type == at::kBFloat16 || type == at::kHalf, "Bias must be BFloat16 or Half, but got ", type);
  TORCH_CHECK(out != at::kBFloat16 || type == at::kBFloat16, "Bias must be BFloat16 to compute ", out,
              " output, but got ", type);
  TORCH_CHECK(out != at::kHalf || type == at::kHalf, "Bias must be Float16 to compute ", out, " output, but got ",
              type);
}

/// ScaledBlas.cpp, is_rowwise_scaling: a scale for each row. One scale for a matrix of one row counts as that of the matrix.
bool scales_rows(const at::Tensor& scale, std::int64_t rows) {
  return scale.scalar_type() == at::kFloat && scale.dim() == 2 && scale.numel() == rows && rows != 1;
}

/// ScaledBlas.cpp and RowwiseScaledMM.cu: rows are scaled by cuBLAS on 9.0 alone, and there only since CUDA 12.9, with which
/// torch's default builds come; elsewhere by CUTLASS's kernel, which is compiled for float32 since torch 2.14.
void check_cutlass_output(at::ScalarType out) {
  const bool is_half = out == at::kBFloat16 || out == at::kHalf;
  if (torch_release() < memory::TorchRelease{2, 14}) {
    TORCH_CHECK_VALUE(is_half, "Only bf16 and fp16 high precision output types are supported for row-wise scaling.");
  }
  TORCH_CHECK_VALUE(is_half || out == at::kFloat,
                    "Only bf16, fp16, and fp32 high precision output types are supported for row-wise scaling.");
}

/// The last stride is 1: what cuBLAS calls not transposed.
bool is_row_major(const at::Tensor& matrix) { return matrix.stride(1) == 1 && matrix.stride(0) >= matrix.size(1); }

}  // namespace

void check_int_mm(const at::Tensor& self, const at::Tensor& mat2) {
  TORCH_CHECK(self.dim() == 2, "Expected self to be of dimension 2 but got ", self.dim());
  TORCH_CHECK(mat2.dim() == 2, "Expected mat2 to be of dimension 2 but got ", mat2.dim());
  TORCH_CHECK(self.size(0) > 16, "self.size(0) needs to be greater than 16, but got ", self.size(0));
  TORCH_CHECK(self.size(1) > 0 && self.size(1) % 8 == 0,
              "self.size(1) needs to be greater than 0 and a multiple of 8, but got ", self.size(1));
  TORCH_CHECK(self.size(1) == mat2.size(0), "self.size(1) needs to match mat2.size(0) but got ", self.size(1), " and ",
              mat2.size(0));
  TORCH_CHECK(mat2.size(1) > 0 && mat2.size(1) % 8 == 0,
              "mat2.size(1) needs to be greater than 0 and a multiple of 8, but got ", mat2.size(1));
  for (const at::Tensor* matrix : {&self, &mat2}) {
    TORCH_CHECK(matrix->scalar_type() == at::kChar, "expected scalar type Char but found ",
                c10::toString(matrix->scalar_type()));
  }
}

void check_scaled_mm_capability() {
  TORCH_CHECK(
      capability() >= std::pair(8, 9),
      "torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or 8.9, or ROCm MI300+");
}

void check_scaled_mm(const at::Tensor& mat1, const at::Tensor& mat2, const at::Tensor& scale_a,
                     const at::Tensor& scale_b, const std::optional<at::Tensor>& bias, at::ScalarType out_type) {
  check_scaled_mm_capability();
  check_matrices(mat1, mat2);
  if (bias.has_value()) {
    TORCH_CHECK(bias->numel() == mat2.size(1), "Bias must be size ", mat2.size(1), " but got ", bias->numel());
  }
  check_divisible(mat1, mat2);
  // The host's kernel refuses what is no float8.
  if (!c10::isFloat8Type(mat1.scalar_type()) || !c10::isFloat8Type(mat2.scalar_type())) return;
  TORCH_CHECK_VALUE(mat1.scalar_type() != at::kFloat8_e5m2 || mat2.scalar_type() != at::kFloat8_e5m2,
                    "Multiplication of two Float8_e5m2 matrices is not supported");
  if (bias.has_value()) check_type_of_bias(*bias, out_type);
  if (scales_rows(scale_a, mat1.size(0)) && scales_rows(scale_b, mat2.size(1)) && capability().first != 9) {
    check_cutlass_output(out_type);
  }
  const bool has_any_layout = capability().first >= 10;
  TORCH_CHECK(has_any_layout || mat1.numel() == 0 || (is_row_major(mat1) && is_row_major(mat2.t())),
              "Only multiplication of row-major and column-major matrices is supported by cuBLASLt");
}

}  // namespace devsan::emulate
