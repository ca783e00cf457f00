#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

// Layers that CUDA, or cuDNN, has under a name of its own: dropout, the CTC loss, samplers.

/// aten::native_dropout: CUDA's fused dropout, its mask drawn from the device's generator.
/// @return output, and a mask of bool
std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double probability,
                                                  std::optional<bool> train);

/// aten::_fused_dropout, the operator before it.
/// @param keep the probability that an element stays
/// @return output, and a mask of uint8
std::tuple<at::Tensor, at::Tensor> fused_dropout(const at::Tensor& input, double keep,
                                                 std::optional<at::Generator> generator);

/// aten::_masked_scale: `input` * `mask` * `scale`, the backward of `fused_dropout`.
at::Tensor masked_scale(const at::Tensor& input, const at::Tensor& mask, double scale);

/// aten::_use_cudnn_ctc_loss, aten::_use_miopen_ctc_loss, and their overloads with lengths in tensors: neither library is
/// there, torch's own kernel is used.
bool use_no_ctc_library(const at::Tensor& log_probs, const at::Tensor& targets, at::IntArrayRef input_lengths,
                        at::IntArrayRef target_lengths, std::int64_t blank);
bool use_no_ctc_library_for_lengths(const at::Tensor& log_probs, const at::Tensor& targets,
                                    const at::Tensor& input_lengths, const at::Tensor& target_lengths,
                                    std::int64_t blank);

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
