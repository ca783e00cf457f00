#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

// NOTE [Operators taken whole]
// Some operators are composites that look at `is_cuda()` and then choose a kernel that only CUDA has (cuDNN, depthwise
// convolution, fused dropout, flash attention). Taken apart they could not run; taken whole, on host aliases, they make
// the choice that they make for CPU tensors, and the numbers are the CPU's to the last bit.

/// aten::_use_cudnn_ctc_loss, aten::_use_miopen_ctc_loss, and their overloads with lengths in tensors: neither library is
/// there, torch's own kernel is used.
bool use_no_ctc_library(const at::Tensor& log_probs, const at::Tensor& targets, at::IntArrayRef input_lengths,
                        at::IntArrayRef target_lengths, std::int64_t blank);
bool use_no_ctc_library_for_lengths(const at::Tensor& log_probs, const at::Tensor& targets,
                                    const at::Tensor& input_lengths, const at::Tensor& target_lengths,
                                    std::int64_t blank);

/// aten::scaled_dot_product_attention, above autograd: the CPU's flash kernel where it takes the inputs, else the
/// composite of matmul and softmax.
at::Tensor scaled_dot_product_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                        const std::optional<at::Tensor>& mask, double dropout, bool is_causal,
                                        std::optional<double> scale, bool enable_gqa);

}  // namespace devsan::emulate
