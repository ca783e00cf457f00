#include "emulate/operators/networks/normalizations.h"

#include <ATen/AccumulateType.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace devsan::emulate {
namespace {

// aten/src/ATen/native/GridSamplerUtils.h: GridSamplerInterpolation::Bilinear and GridSamplerPadding::Zeros.
constexpr std::int64_t kBilinear = 0;
constexpr std::int64_t kZeros = 0;

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> cudnn_batch_norm(
    const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& running_mean, const std::optional<at::Tensor>& running_var, bool training,
    double momentum, double epsilon) {
  auto [output, mean, invstd] =
      at::native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, epsilon);
  return {std::move(output), std::move(mean), std::move(invstd), at::empty({0}, input.options().dtype(at::kByte))};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> cudnn_batch_norm_backward(
    const at::Tensor& input, const at::Tensor& grad, const at::Tensor& weight,
    const std::optional<at::Tensor>& running_mean, const std::optional<at::Tensor>& running_var,
    const std::optional<at::Tensor>& save_mean, const std::optional<at::Tensor>& save_var, double epsilon,
    const at::Tensor& /*reserve*/) {
  return at::native_batch_norm_backward(grad, input, weight, running_mean, running_var, save_mean, save_var,
                                        /*train=*/true, epsilon, {true, true, true});
}

std::tuple<at::Tensor, at::Tensor> fused_rms_norm_backward(const at::Tensor& grad, const at::Tensor& input,
                                                           at::IntArrayRef normalized_shape, const at::Tensor& rstd,
                                                           const std::optional<at::Tensor>& weight,
                                                           std::array<bool, 2> wanted) {
  const at::ScalarType type = at::toAccumulateType(input.scalar_type(), /*is_cuda=*/true);
  const bool weighted = weight.has_value() && weight->defined();
  const auto rows = input.dim() - static_cast<std::int64_t>(normalized_shape.size());
  std::vector<std::int64_t> in_row;
  for (std::int64_t dim = rows; dim < input.dim(); ++dim) in_row.push_back(dim);
  const at::Tensor scale = rstd.to(type);
  const at::Tensor unit = input.to(type) * scale;
  const at::Tensor wide_grad = grad.to(type);
  std::tuple<at::Tensor, at::Tensor> result;
  if (wanted[0]) {
    const at::Tensor slope = weighted ? wide_grad * weight->to(type) : wide_grad;
    std::get<0>(result) =
        ((slope - unit * (slope * unit).mean(in_row, /*keepdim=*/true)) * scale).to(grad.scalar_type());
  }
  if (wanted[1] && weighted) {
    std::get<1>(result) = (wide_grad * unit).sum_to_size(normalized_shape).to(weight->scalar_type());
  }
  return result;
}

at::Tensor cudnn_grid_sampler(const at::Tensor& input, const at::Tensor& grid) {
  return at::grid_sampler_2d(input, grid, kBilinear, kZeros, /*align_corners=*/true);
}

std::tuple<at::Tensor, at::Tensor> cudnn_grid_sampler_backward(const at::Tensor& input, const at::Tensor& grid,
                                                               const at::Tensor& grad) {
  return at::grid_sampler_2d_backward(grad, input, grid, kBilinear, kZeros, /*align_corners=*/true, {true, true});
}

at::Tensor cudnn_affine_grid_generator(const at::Tensor& theta, std::int64_t batch, std::int64_t channels,
                                       std::int64_t height, std::int64_t width) {
  return at::affine_grid_generator(theta, {batch, channels, height, width}, /*align_corners=*/true);
}

at::Tensor cudnn_affine_grid_generator_backward(const at::Tensor& grad, std::int64_t batch, std::int64_t channels,
                                                std::int64_t height, std::int64_t width) {
  return at::affine_grid_generator_backward(grad, {batch, channels, height, width}, /*align_corners=*/true);
}

}  // namespace devsan::emulate
