#include "emulate/operators/networks/convolutions.h"

#include <ATen/Functions.h>

namespace devsan::emulate {
namespace {

at::Tensor convolve(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, std::int64_t groups) {
  const std::vector<std::int64_t> no_output_padding(padding.size(), 0);
  return at::convolution(input, weight, bias, stride, padding, dilation, /*transposed=*/false, no_output_padding,
                         groups);
}

/// The words of conv_depthwise_shape_check (aten/src/ATen/native/cuda/DepthwiseConv3d.cu), which convolution's own
/// checks do not make. @return the number of channels
std::int64_t check_depthwise(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef kernel_size) {
  const auto dim = static_cast<std::int64_t>(kernel_size.size());
  TORCH_CHECK(input.dim() == dim + 1 || input.dim() == dim + 2, "Input dimension should be ", dim + 1, "D or ", dim + 2,
              "D, got ", input.dim(), "D");
  TORCH_CHECK(weight.dim() == dim + 2, "Weight dimension should be ", dim + 2, "D, got ", weight.dim(), "D");
  TORCH_CHECK(weight.size(1) == 1, "Depthwise weight should have in_channels=1, got ", weight.size(1));
  const std::int64_t channels = input.size(-dim - 1);
  TORCH_CHECK(weight.size(0) % channels == 0, "Depthwise out channels should be a multiple of in channels, got ",
              weight.size(0), " and ", channels);
  TORCH_CHECK(weight.sizes().slice(2) == kernel_size, "kernel size and weight size mismatch, got ", kernel_size,
              " and ", weight.sizes());
  return channels;
}

at::Tensor convolve_depthwise(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef kernel_size,
                              const std::optional<at::Tensor>& bias, at::IntArrayRef stride, at::IntArrayRef padding,
                              at::IntArrayRef dilation) {
  const std::int64_t channels = check_depthwise(input, weight, kernel_size);
  const bool batched = input.dim() == weight.dim();
  const at::Tensor batch = batched ? input : input.unsqueeze(0);
  return convolve(batch, weight, bias, stride, padding, dilation, channels);
}

}  // namespace

at::Tensor cudnn_convolution(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef padding,
                             at::IntArrayRef stride, at::IntArrayRef dilation, std::int64_t groups, bool /*benchmark*/,
                             bool /*deterministic*/, bool /*allow_tf32*/) {
  return convolve(input, weight, std::nullopt, stride, padding, dilation, groups);
}

at::Tensor& cudnn_convolution_out(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef padding,
                                  at::IntArrayRef stride, at::IntArrayRef dilation, std::int64_t groups,
                                  bool /*benchmark*/, bool /*deterministic*/, bool /*allow_tf32*/, at::Tensor& out) {
  const at::Tensor result = convolve(input, weight, std::nullopt, stride, padding, dilation, groups);
  out.resize_(result.sizes());
  return out.copy_(result);
}

at::Tensor cudnn_convolution_transpose(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef padding,
                                       at::IntArrayRef output_padding, at::IntArrayRef stride, at::IntArrayRef dilation,
                                       std::int64_t groups, bool /*benchmark*/, bool /*deterministic*/,
                                       bool /*allow_tf32*/) {
  return at::convolution(input, weight, std::nullopt, stride, padding, dilation, /*transposed=*/true, output_padding,
                         groups);
}

at::Tensor cudnn_convolution_relu(const at::Tensor& input, const at::Tensor& weight,
                                  const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                                  at::IntArrayRef padding, at::IntArrayRef dilation, std::int64_t groups) {
  return convolve(input, weight, bias, stride, padding, dilation, groups).relu_();
}

at::Tensor cudnn_convolution_add_relu(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& addend,
                                      const std::optional<at::Scalar>& alpha, const std::optional<at::Tensor>& bias,
                                      at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                                      std::int64_t groups) {
  at::Tensor result = convolve(input, weight, bias, stride, padding, dilation, groups);
  return result.add_(addend, alpha.value_or(1)).relu_();
}

at::Tensor conv_depthwise2d(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef kernel_size,
                            const std::optional<at::Tensor>& bias, at::IntArrayRef stride, at::IntArrayRef padding,
                            at::IntArrayRef dilation) {
  return convolve_depthwise(input, weight, kernel_size, bias, stride, padding, dilation);
}

at::Tensor& conv_depthwise2d_out(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef kernel_size,
                                 const std::optional<at::Tensor>& bias, at::IntArrayRef stride, at::IntArrayRef padding,
                                 at::IntArrayRef dilation, at::Tensor& out) {
  const at::Tensor result = convolve_depthwise(input, weight, kernel_size, bias, stride, padding, dilation);
  out.resize_(result.sizes());
  return out.copy_(result);
}

at::Tensor conv_depthwise3d(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef kernel_size,
                            const std::optional<at::Tensor>& bias, at::IntArrayRef stride, at::IntArrayRef padding,
                            at::IntArrayRef dilation) {
  return convolve_depthwise(input, weight, kernel_size, bias, stride, padding, dilation);
}

}  // namespace devsan::emulate
