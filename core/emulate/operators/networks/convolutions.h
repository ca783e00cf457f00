#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

// Convolutions by the names of CUDA's own kernels. Each is aten::convolution of the same operands, which the CPU has.

/// aten::cudnn_convolution. The flags choose among cuDNN's algorithms; there is one here.
at::Tensor cudnn_convolution(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef padding,
                             at::IntArrayRef stride, at::IntArrayRef dilation, std::int64_t groups, bool benchmark,
                             bool deterministic, bool allow_tf32);
at::Tensor& cudnn_convolution_out(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef padding,
                                  at::IntArrayRef stride, at::IntArrayRef dilation, std::int64_t groups, bool benchmark,
                                  bool deterministic, bool allow_tf32, at::Tensor& out);

/// aten::cudnn_convolution_transpose.
at::Tensor cudnn_convolution_transpose(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef padding,
                                       at::IntArrayRef output_padding, at::IntArrayRef stride, at::IntArrayRef dilation,
                                       std::int64_t groups, bool benchmark, bool deterministic, bool allow_tf32);

/// aten::cudnn_convolution_relu.
at::Tensor cudnn_convolution_relu(const at::Tensor& input, const at::Tensor& weight,
                                  const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                                  at::IntArrayRef padding, at::IntArrayRef dilation, std::int64_t groups);

/// aten::cudnn_convolution_add_relu: relu(convolution + alpha * addend).
at::Tensor cudnn_convolution_add_relu(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& addend,
                                      const std::optional<at::Scalar>& alpha, const std::optional<at::Tensor>& bias,
                                      at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                                      std::int64_t groups);

/// aten::_conv_depthwise2d and aten::conv_depthwise3d: one group a channel.
at::Tensor conv_depthwise2d(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef kernel_size,
                            const std::optional<at::Tensor>& bias, at::IntArrayRef stride, at::IntArrayRef padding,
                            at::IntArrayRef dilation);
at::Tensor& conv_depthwise2d_out(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef kernel_size,
                                 const std::optional<at::Tensor>& bias, at::IntArrayRef stride, at::IntArrayRef padding,
                                 at::IntArrayRef dilation, at::Tensor& out);
at::Tensor conv_depthwise3d(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef kernel_size,
                            const std::optional<at::Tensor>& bias, at::IntArrayRef stride, at::IntArrayRef padding,
                            at::IntArrayRef dilation);

}  // namespace devsan::emulate
