#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/SymInt.h>

namespace devsan::emulate {

// CUDA's flash attention, by the operators that its kernels have. See NOTE [Fused attention].
//
// Checks of types and sizes are those of aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp, in its words.
// "rng state" is [seed, offset] as uint64, on the device.

/// Positions before heads: [batch, positions, heads, width], or [all positions, heads, width] with `starts`.
/// @return output, logsumexp, rng state, an unused tensor, an empty debug mask
/// Raises NotImplementedError for ALiBi slopes, a paged key cache and the debug mask.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> flash_attention_forward(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const std::optional<at::Tensor>& starts_q,
    const std::optional<at::Tensor>& starts_k, c10::SymInt max_q, c10::SymInt max_k, double dropout, bool is_causal,
    bool return_debug_mask, std::optional<double> scale, std::optional<c10::SymInt> window_left,
    std::optional<c10::SymInt> window_right, const std::optional<at::Tensor>& used_k,
    const std::optional<at::Tensor>& alibi_slopes);

/// The same since torch 2.12, which knows a paged cache and a number of splits.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> flash_attention_forward_paged(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const std::optional<at::Tensor>& starts_q,
    const std::optional<at::Tensor>& starts_k, c10::SymInt max_q, c10::SymInt max_k, double dropout, bool is_causal,
    bool return_debug_mask, std::optional<double> scale, std::optional<c10::SymInt> window_left,
    std::optional<c10::SymInt> window_right, const std::optional<at::Tensor>& used_k,
    const std::optional<at::Tensor>& alibi_slopes, const std::optional<at::Tensor>& block_table,
    std::optional<std::int64_t> splits);

/// @return gradients of query, key, value
std::tuple<at::Tensor, at::Tensor, at::Tensor> flash_attention_backward(
    const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& output, const at::Tensor& logsumexp, const at::Tensor& starts_q, const at::Tensor& starts_k,
    c10::SymInt max_q, c10::SymInt max_k, double dropout, bool is_causal, const at::Tensor& rng_state,
    const at::Tensor& unused, std::optional<double> scale, std::optional<c10::SymInt> window_left,
    std::optional<c10::SymInt> window_right);

/// Heads before positions: [batch, heads, positions, width].
/// @return output, logsumexp, two undefined tensors, query and key lengths, rng state, an unused tensor, a debug mask
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt, at::Tensor, at::Tensor, at::Tensor>
scaled_dot_product_flash_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                   double dropout, bool is_causal, bool return_debug_mask, std::optional<double> scale);
std::tuple<at::Tensor, at::Tensor, at::Tensor> scaled_dot_product_flash_attention_backward(
    const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& output, const at::Tensor& logsumexp, const at::Tensor& starts_q, const at::Tensor& starts_k,
    c10::SymInt max_q, c10::SymInt max_k, double dropout, bool is_causal, const at::Tensor& rng_state,
    const at::Tensor& unused, std::optional<double> scale);

}  // namespace devsan::emulate
