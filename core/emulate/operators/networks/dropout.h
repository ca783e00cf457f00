#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

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

}  // namespace devsan::emulate
