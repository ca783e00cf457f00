#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/SymInt.h>

namespace devsan::emulate {

// CUDA's memory-efficient attention, and cuDNN's, by the operators that their kernels have. See NOTE [Fused attention].
// Seed and offset are int64 scalars; with dropout those of the memory-efficient kernel are on the CPU, as CUDA's are.

/// aten::_efficient_attention_forward: [batch, positions, heads, width], or one batch of sequences with `starts`.
/// @param mask_type see Causal
/// @return output, logsumexp [batch or parts, heads, positions rounded up to 32], seed, offset, query and key lengths
/// Raises NotImplementedError for a window.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt> efficient_attention_forward(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& starts_q, const std::optional<at::Tensor>& starts_k,
    std::optional<c10::SymInt> max_q, std::optional<c10::SymInt> max_k, double dropout, std::int64_t mask_type,
    bool wants_logsumexp, std::optional<double> scale, const std::optional<at::Tensor>& used_k,
    std::optional<std::int64_t> window);

/// @return gradients of query, key, value, and of the bias if it is asked for
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> efficient_attention_backward(
    const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const std::optional<at::Tensor>& bias, const at::Tensor& output, const std::optional<at::Tensor>& starts_q,
    const std::optional<at::Tensor>& starts_k, c10::SymInt max_q, c10::SymInt max_k, const at::Tensor& logsumexp,
    double dropout, const at::Tensor& seed, const at::Tensor& offset, std::int64_t mask_type, bool wants_bias,
    std::optional<double> scale, std::optional<std::int64_t> splits, std::optional<std::int64_t> window,
    bool shared_storage);

/// aten::_scaled_dot_product_efficient_attention: [batch, heads, positions, width].
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> scaled_dot_product_efficient_attention(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const std::optional<at::Tensor>& bias,
    bool wants_logsumexp, double dropout, bool is_causal, std::optional<double> scale);
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> scaled_dot_product_efficient_attention_backward(
    const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& bias, const at::Tensor& output, const at::Tensor& logsumexp, const at::Tensor& seed,
    const at::Tensor& offset, double dropout, std::array<bool, 4> wanted, bool is_causal, std::optional<double> scale);

/// aten::_scaled_dot_product_cudnn_attention: [batch, heads, positions, width].
/// @return output, logsumexp [batch, heads, positions, 1], two undefined tensors, query and key lengths, seed, offset,
/// and an undefined debug mask
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt, at::Tensor, at::Tensor, at::Tensor>
scaled_dot_product_cudnn_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                   const std::optional<at::Tensor>& bias, bool wants_logsumexp, double dropout,
                                   bool is_causal, bool return_debug_mask, std::optional<double> scale);
std::tuple<at::Tensor, at::Tensor, at::Tensor> scaled_dot_product_cudnn_attention_backward(
    const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& output, const at::Tensor& logsumexp, const at::Tensor& seed, const at::Tensor& offset,
    const at::Tensor& bias, const at::Tensor& starts_q, const at::Tensor& starts_k, c10::SymInt max_q,
    c10::SymInt max_k, double dropout, bool is_causal, std::optional<double> scale);

}  // namespace devsan::emulate
