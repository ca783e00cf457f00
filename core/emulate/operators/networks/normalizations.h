#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

// Normalizations that CUDA, or cuDNN, has under a name of its own, carried out by the CPU's general ones.

/// aten::cudnn_batch_norm. @return output, mean, inverse deviation (both empty unless training), and cuDNN's reserved
/// bytes, of which there are none
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> cudnn_batch_norm(
    const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& running_mean, const std::optional<at::Tensor>& running_var, bool training,
    double momentum, double epsilon);

/// aten::cudnn_batch_norm_backward, of a call in training.
std::tuple<at::Tensor, at::Tensor, at::Tensor> cudnn_batch_norm_backward(
    const at::Tensor& input, const at::Tensor& grad, const at::Tensor& weight,
    const std::optional<at::Tensor>& running_mean, const std::optional<at::Tensor>& running_var,
    const std::optional<at::Tensor>& save_mean, const std::optional<at::Tensor>& save_var, double epsilon,
    const at::Tensor& reserve);

/// aten::_fused_rms_norm, which CUDA has in one kernel and the CPU as a composite. @return output, and 1 / root mean square
/// of each row
std::tuple<at::Tensor, at::Tensor> fused_rms_norm(const at::Tensor& input, at::IntArrayRef normalized_shape,
                                                  const std::optional<at::Tensor>& weight,
                                                  std::optional<double> epsilon);

/// aten::_fused_rms_norm_backward: gradients of input and weight.
/// @param rstd 1 / root mean square of each row
std::tuple<at::Tensor, at::Tensor> fused_rms_norm_backward(const at::Tensor& grad, const at::Tensor& input,
                                                           at::IntArrayRef normalized_shape, const at::Tensor& rstd,
                                                           const std::optional<at::Tensor>& weight,
                                                           std::array<bool, 2> wanted);

// The operators of torch.nn.SyncBatchNorm, which only CUDA has. Computed by reductions in the accumulation type (float32
// for a reduced precision), from the definitions in aten/src/ATen/native/cuda/Normalization.cuh. Statistics are per
// channel, dimension 1 of `input`.

/// aten::batch_norm_stats. @return mean and 1 / sqrt(variance + epsilon), in the accumulation type
std::tuple<at::Tensor, at::Tensor> batch_norm_stats(const at::Tensor& input, double epsilon);

/// aten::batch_norm_elemt: `input` normalized by given statistics.
at::Tensor batch_norm_elemt(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                            const std::optional<at::Tensor>& bias, const at::Tensor& mean, const at::Tensor& invstd,
                            double epsilon);
at::Tensor& batch_norm_elemt_out(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                                 const std::optional<at::Tensor>& bias, const at::Tensor& mean,
                                 const at::Tensor& invstd, double epsilon, at::Tensor& out);

/// aten::batch_norm_gather_stats(_with_counts): one mean and inverse deviation from those of several parts.
/// @param mean, invstd [parts, channels]
/// @param counts elements per channel of each part
/// Writes the running statistics where there are any.
std::tuple<at::Tensor, at::Tensor> batch_norm_gather_stats(const at::Tensor& input, const at::Tensor& mean,
                                                           const at::Tensor& invstd,
                                                           const std::optional<at::Tensor>& running_mean,
                                                           const std::optional<at::Tensor>& running_var,
                                                           double momentum, double epsilon, std::int64_t count);
std::tuple<at::Tensor, at::Tensor> batch_norm_gather_stats_with_counts(const at::Tensor& input, const at::Tensor& mean,
                                                                       const at::Tensor& invstd,
                                                                       const std::optional<at::Tensor>& running_mean,
                                                                       const std::optional<at::Tensor>& running_var,
                                                                       double momentum, double epsilon,
                                                                       const at::Tensor& counts);

/// aten::batch_norm_backward_reduce. @return sum of grad, sum of grad * (input - mean), grad of weight, grad of bias;
/// those that are not asked for are undefined
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> batch_norm_backward_reduce(
    const at::Tensor& grad, const at::Tensor& input, const at::Tensor& mean, const at::Tensor& invstd,
    const std::optional<at::Tensor>& weight, bool for_input, bool for_weight, bool for_bias);

/// aten::batch_norm_backward_elemt: the input's gradient from the sums over all parts.
at::Tensor batch_norm_backward_elemt(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& mean,
                                     const at::Tensor& invstd, const std::optional<at::Tensor>& weight,
                                     const at::Tensor& sum_grad, const at::Tensor& sum_grad_centered,
                                     const at::Tensor& count);

}  // namespace devsan::emulate
