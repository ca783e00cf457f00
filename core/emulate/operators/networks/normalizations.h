#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

// Normalizations and samplers that CUDA, or cuDNN, has under a name of its own, carried out by the CPU's general ones.

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

/// aten::_fused_rms_norm_backward: gradients of input and weight, in float32 for a reduced precision.
/// @param rstd 1 / root mean square of each row
std::tuple<at::Tensor, at::Tensor> fused_rms_norm_backward(const at::Tensor& grad, const at::Tensor& input,
                                                           at::IntArrayRef normalized_shape, const at::Tensor& rstd,
                                                           const std::optional<at::Tensor>& weight,
                                                           std::array<bool, 2> wanted);

/// aten::cudnn_grid_sampler: bilinear, zeros outside, corners aligned.
at::Tensor cudnn_grid_sampler(const at::Tensor& input, const at::Tensor& grid);
std::tuple<at::Tensor, at::Tensor> cudnn_grid_sampler_backward(const at::Tensor& input, const at::Tensor& grid,
                                                               const at::Tensor& grad);

/// aten::cudnn_affine_grid_generator: corners aligned.
at::Tensor cudnn_affine_grid_generator(const at::Tensor& theta, std::int64_t batch, std::int64_t channels,
                                       std::int64_t height, std::int64_t width);
at::Tensor cudnn_affine_grid_generator_backward(const at::Tensor& grad, std::int64_t batch, std::int64_t channels,
                                                std::int64_t height, std::int64_t width);

}  // namespace devsan::emulate
