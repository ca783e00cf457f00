#include "emulate/operators/networks/normalizations.h"

#include <ATen/AccumulateType.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include "emulate/runtime/host_allocator.h"
#include "emulate/runtime/tensor.h"

namespace devsan::emulate {
namespace {

at::ScalarType accumulation_type(at::ScalarType type) { return at::toAccumulateType(type, /*is_cuda=*/true); }

std::vector<std::int64_t> all_but_channels(const at::Tensor& input) {
  std::vector<std::int64_t> dims{0};
  for (std::int64_t dim = 2; dim < input.dim(); ++dim) dims.push_back(dim);
  return dims;
}

/// A value per channel, shaped so that it broadcasts over `like`.
at::Tensor per_channel(const at::Tensor& values, const at::Tensor& like, at::ScalarType type) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(like.dim()), 1);
  shape[1] = values.numel();
  return values.to(type).view(shape);
}

at::Tensor centered(const at::Tensor& input, const at::Tensor& mean, at::ScalarType type) {
  return input.to(type) - per_channel(mean, input, type);
}

void follow(const at::Tensor& running, const at::Tensor& value, double momentum) {
  running.mul_(1 - momentum).add_(value.to(running.scalar_type()), momentum);
}

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

std::tuple<at::Tensor, at::Tensor> fused_rms_norm(const at::Tensor& input, at::IntArrayRef normalized_shape,
                                                  const std::optional<at::Tensor>& weight,
                                                  std::optional<double> epsilon) {
  const c10::Device device = input.device();
  const at::AutoDispatchBelowADInplaceOrView below;
  const DeviceScope scope(device.index());
  const auto host_weight = is_given(weight) ? std::optional(on_host(*weight)) : std::nullopt;
  auto [output, rstd] = at::_fused_rms_norm(on_host(input), normalized_shape, host_weight, epsilon);
  return {adopt(std::move(output), device), adopt(std::move(rstd), device)};
}

std::tuple<at::Tensor, at::Tensor> fused_rms_norm_backward(const at::Tensor& grad, const at::Tensor& input,
                                                           at::IntArrayRef normalized_shape, const at::Tensor& rstd,
                                                           const std::optional<at::Tensor>& weight,
                                                           std::array<bool, 2> wanted) {
  // The operations of the composite's derivatives, in their order: a CPU tensor's gradients to the last bit.
  const at::ScalarType type = at::toAccumulateType(input.scalar_type(), /*is_cuda=*/true);
  const auto rows = input.dim() - static_cast<std::int64_t>(normalized_shape.size());
  std::vector<std::int64_t> in_row;
  for (std::int64_t dim = rows; dim < input.dim(); ++dim) in_row.push_back(dim);
  const at::Tensor wide = input.to(type);
  const at::Tensor wide_grad = grad.to(type);
  std::tuple<at::Tensor, at::Tensor> result;
  if (wanted[0]) {
    const at::Tensor slope = is_given(weight) ? wide_grad * *weight : wide_grad;
    const at::Tensor of_rstd = (slope * wide).sum(in_row, /*keepdim=*/true);
    const at::Tensor of_mean = of_rstd * -0.5 * rstd.pow(3);
    const at::Tensor of_square = of_mean.expand(input.sizes()) / c10::multiply_integers(normalized_shape);
    std::get<0>(result) = (slope * rstd + of_square * (wide * 2.0)).to(input.scalar_type());
  }
  if (wanted[1] && is_given(weight)) {
    std::get<1>(result) = (wide_grad * (wide * rstd)).sum_to_size(normalized_shape).to(weight->scalar_type());
  }
  return result;
}

std::tuple<at::Tensor, at::Tensor> batch_norm_stats(const at::Tensor& input, double epsilon) {
  const at::ScalarType type = accumulation_type(input.scalar_type());
  auto [variance, mean] = at::var_mean(input.to(type), all_but_channels(input), /*correction=*/0, /*keepdim=*/false);
  return {std::move(mean), variance.add_(epsilon).rsqrt_()};
}

at::Tensor batch_norm_elemt(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                            const std::optional<at::Tensor>& bias, const at::Tensor& mean, const at::Tensor& invstd,
                            double /*epsilon*/) {
  const at::ScalarType type = accumulation_type(input.scalar_type());
  at::Tensor factor = invstd.to(type);
  if (is_given(weight)) factor = factor * weight->to(type);
  at::Tensor result = centered(input, mean, type).mul_(per_channel(factor, input, type));
  if (is_given(bias)) result.add_(per_channel(*bias, input, type));
  return at::empty_like(input).copy_(result);
}

at::Tensor& batch_norm_elemt_out(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                                 const std::optional<at::Tensor>& bias, const at::Tensor& mean,
                                 const at::Tensor& invstd, double epsilon, at::Tensor& out) {
  out.resize_(input.sizes());
  return out.copy_(emulate::batch_norm_elemt(input, weight, bias, mean, invstd, epsilon));
}

std::tuple<at::Tensor, at::Tensor> batch_norm_gather_stats(const at::Tensor& input, const at::Tensor& mean,
                                                           const at::Tensor& invstd,
                                                           const std::optional<at::Tensor>& running_mean,
                                                           const std::optional<at::Tensor>& running_var,
                                                           double momentum, double epsilon, std::int64_t count) {
  const at::Tensor counts = at::full({mean.size(0)}, count, mean.options());
  return emulate::batch_norm_gather_stats_with_counts(input, mean, invstd, running_mean, running_var, momentum, epsilon,
                                                      counts);
}

std::tuple<at::Tensor, at::Tensor> batch_norm_gather_stats_with_counts(const at::Tensor& input, const at::Tensor& mean,
                                                                       const at::Tensor& invstd,
                                                                       const std::optional<at::Tensor>& running_mean,
                                                                       const std::optional<at::Tensor>& running_var,
                                                                       double momentum, double epsilon,
                                                                       const at::Tensor& counts) {
  const at::ScalarType type =
      accumulation_type(is_given(running_mean) ? running_mean->scalar_type() : input.scalar_type());
  const at::Tensor weights = counts.to(type).view({-1, 1});
  const at::Tensor total = weights.sum();
  const at::Tensor means = mean.to(type);
  at::Tensor whole_mean = (means * weights).sum(0).div_(total);
  const at::Tensor variances = invstd.to(type).pow(-2) - epsilon;
  const at::Tensor squares = ((variances + (means - whole_mean).square()) * weights).sum(0);
  if (is_given(running_mean)) follow(*running_mean, whole_mean, momentum);
  if (is_given(running_var)) follow(*running_var, squares / (total - 1), momentum);
  return {std::move(whole_mean), (squares / total).add_(epsilon).rsqrt_()};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> batch_norm_backward_reduce(
    const at::Tensor& grad, const at::Tensor& input, const at::Tensor& mean, const at::Tensor& invstd,
    const std::optional<at::Tensor>& weight, bool for_input, bool for_weight, bool for_bias) {
  TORCH_CHECK(mean.dtype() == invstd.dtype(), "mean and invstd need to have the same data types");
  const at::ScalarType type = accumulation_type(input.scalar_type());
  const std::vector<std::int64_t> dims = all_but_channels(input);
  const at::Tensor wide_grad = grad.to(type);
  const at::Tensor sum_grad = wide_grad.sum(dims);
  const at::Tensor sum_grad_centered = (wide_grad * centered(input, mean, type)).sum(dims);
  const bool weighted = is_given(weight);
  const at::ScalarType weight_type = weighted ? weight->scalar_type() : type;
  std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> result;
  if (for_input) {
    std::get<0>(result) = sum_grad.to(mean.scalar_type());
    std::get<1>(result) = sum_grad_centered.to(mean.scalar_type());
  }
  if (for_weight && weighted) std::get<2>(result) = (sum_grad_centered * invstd.to(type)).to(weight_type);
  if (for_bias && weighted) std::get<3>(result) = sum_grad.to(weight_type, /*non_blocking=*/false, /*copy=*/true);
  return result;
}

at::Tensor batch_norm_backward_elemt(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& mean,
                                     const at::Tensor& invstd, const std::optional<at::Tensor>& weight,
                                     const at::Tensor& sum_grad, const at::Tensor& sum_grad_centered,
                                     const at::Tensor& count) {
  TORCH_CHECK(mean.dtype() == invstd.dtype(), "mean and invstd need to have the same data types");
  const at::ScalarType type = accumulation_type(input.scalar_type());
  const at::Tensor total = count.to(type).sum();
  const at::Tensor deviation = invstd.to(type);
  const at::Tensor slope = sum_grad_centered.to(type) / total * deviation.square();
  const at::Tensor factor = is_given(weight) ? deviation * weight->to(type) : deviation;
  at::Tensor result = grad.to(type) - per_channel(sum_grad.to(type) / total, input, type);
  result.sub_(centered(input, mean, type).mul_(per_channel(slope, input, type)));
  result.mul_(per_channel(factor, input, type));
  return at::empty_like(input).copy_(result);
}

}  // namespace devsan::emulate
