#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

/// aten::scaled_dot_product_attention, above autograd: the CPU's flash kernel where it takes the inputs, else the
/// composite of matmul and softmax.
at::Tensor scaled_dot_product_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                        const std::optional<at::Tensor>& mask, double dropout, bool is_causal,
                                        std::optional<double> scale, bool enable_gqa);

}  // namespace devsan::emulate
