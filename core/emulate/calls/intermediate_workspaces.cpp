#include "emulate/calls/workspace_rows.h"

#include <array>

#include <ATen/ExpandUtils.h>

#include "emulate/calls/reduction_buffers.h"

namespace devsan::emulate {
namespace {

/// aten/src/ATen/native/cuda/SoftMax.cu, softmax_backward_cuda_out: the product of gradient and result, which that of the
/// logarithm does without.
std::size_t softmax_backward(Workspace::Arguments arguments) {
  const at::Tensor& grad = arguments[0].toTensor();
  return count_of(grad) * grad.itemsize();
}

/// aten/src/ATen/native/UnaryOps.cpp, unary_op_impl_with_complex_to_float_out: the real part of a complex result.
std::size_t complex_to_real(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  const bool applies = self.is_complex() && self.layout() == at::kStrided && !arguments[1].toTensor().is_complex();
  return applies ? count_of(self) * self.itemsize() : 0;
}

/// aten/src/ATen/native/cuda/SpectralOps.cpp, _fft_c2r_cufft: cuFFT overwrites its operand, which is therefore copied or
/// already transformed along the other dimensions.
std::size_t fourier_to_real(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  return count_of(self) * self.itemsize();
}

/// aten/src/ATen/native/cuda/linalg/BatchLinearAlgebra.cpp, lu_solve_kernel: as many right sides as unknowns are solved as
/// two triangles, and permuted into or from a copy.
std::size_t square_solution(const at::Tensor& matrix, const at::Tensor& right) {
  constexpr std::int64_t kBatched = 16;
  const std::int64_t unknowns = matrix.dim() < 2 ? 0 : matrix.size(-1);
  const bool is_square = right.dim() >= 2 && right.size(-1) == unknowns && right.size(-2) == unknowns;
  if (!is_square || unknowns <= kBatched || !at::are_expandable(matrix.sizes(), right.sizes())) return 0;
  const auto sizes = at::infer_size_dimvector(matrix.sizes(), right.sizes());
  const auto count = static_cast<std::size_t>(c10::multiply_integers(sizes));
  const std::size_t permutation = count_of(matrix) / static_cast<std::size_t>(unknowns) * kLongBytes;
  return rounded(count * right.itemsize()) + rounded(permutation);
}

/// aten/src/ATen/native/BatchLinearAlgebra.cpp, linalg_inv_ex_out: the unit matrix, solved; the factors are not kept.
std::size_t inverse(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  if (self.numel() == 0 || self.dim() < 2) return 0;  // the operator refuses less
  const std::size_t pivots = count_of(self) / static_cast<std::size_t>(self.size(-1)) * sizeof(std::int32_t);
  return rounded(count_of(self) * self.itemsize()) + rounded(pivots) + square_solution(self, self);
}

std::size_t solution(Workspace::Arguments arguments) {
  return square_solution(arguments[0].toTensor(), arguments[1].toTensor());
}

std::size_t solution_by_factors(Workspace::Arguments arguments) {
  return square_solution(arguments[0].toTensor(), arguments[2].toTensor());
}

/// aten/src/ATen/native/cuda/LossCTC.cu, ctc_loss_backward_gpu_template: the way back through time, as long as the way
/// there.
std::size_t ctc_loss_backward(Workspace::Arguments arguments) {
  const at::Tensor& forward = arguments[6].toTensor();
  return count_of(forward) * forward.itemsize();
}

/// aten/src/ATen/native/cuda/group_norm_kernel.cu, GroupNormKernelImplInternal: a factor and a summand of each channel.
std::size_t group_norm(Workspace::Arguments arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  const bool is_affine = is_given(arguments[1]) || is_given(arguments[2]);
  if (arguments[5].toInt() == 1 || !is_affine) return 0;
  const auto channels = static_cast<std::size_t>(arguments[3].toInt() * arguments[4].toInt());
  return 2 * rounded(channels * accumulated_size(self.scalar_type()));
}

/// The same file, GroupNormBackwardKernelImplInternal: two sums of each channel, its factor, two of each group.
std::size_t group_norm_backward(Workspace::Arguments arguments) {
  const std::size_t size = accumulated_size(arguments[1].toTensor().scalar_type());
  const std::int64_t batch = arguments[5].toInt();
  const std::size_t channels = rounded(static_cast<std::size_t>(batch * arguments[6].toInt()) * size);
  const std::size_t groups = rounded(static_cast<std::size_t>(batch * arguments[8].toInt()) * size);
  const bool of_input = arguments[9].toBoolList()[0];
  const bool has_weight = is_given(arguments[4]);
  if (arguments[7].toInt() == 1) return of_input ? 2 * groups : 0;
  return 2 * channels + (of_input ? (has_weight ? channels : 0) + 2 * groups : 0);
}

}  // namespace

c10::ArrayRef<WorkspaceRow> intermediate_workspaces() {
  static constexpr auto kRows = std::to_array<WorkspaceRow>({
      {"aten::_softmax_backward_data", &softmax_backward},
      {"aten::abs.out", &complex_to_real},
      {"aten::angle.out", &complex_to_real},
      {"aten::_fft_c2r", &fourier_to_real},
      {"aten::_fft_c2r.out", &fourier_to_real},
      {"aten::linalg_inv_ex", &inverse},
      {"aten::_linalg_solve_ex", &solution},
      {"aten::linalg_lu_solve", &solution_by_factors},
      {"aten::_ctc_loss_backward", &ctc_loss_backward},
      {"aten::_ctc_loss_backward.Tensor", &ctc_loss_backward},
      {"aten::native_group_norm", &group_norm},
      {"aten::native_group_norm_backward", &group_norm_backward},
  });
  return kRows;
}

}  // namespace devsan::emulate
