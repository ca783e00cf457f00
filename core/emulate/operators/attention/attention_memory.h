#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

// What CUDA's fused attention kernels allocate, in their order: see NOTE [Memory of a kernel written by hand]. Each
// function stands before the computation and does nothing outside of a KernelMemory. Queries, keys and values have
// positions before heads, as CUDA's kernels take them: [batch, positions, heads, width].

/// aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp, mha_fwd and set_params_splitkv: the output, logsumexp,
/// the place of the dropout mask, and, where few queries meet many keys, partial results of splits of the keys.
void take_flash_forward(const at::Tensor& query, const at::Tensor& key, double dropout);

/// The same file, mha_bwd: the gradients, a sum for each query, the gradient of the query in float32, and the gradients of
/// keys and values for every head where heads share them.
void take_flash_backward(const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key,
                         const at::Tensor& value);

/// aten/src/ATen/native/transformers/cuda/attention.cu, _efficient_attention_forward: the output, logsumexp, and the output
/// in float32 where a tile does not hold its width (mem_eff_attention/kernel_forward.h, kNeedsOutputAccumulatorBuffer).
void take_efficient_forward(const at::Tensor& query, const at::Tensor& value, bool wants_logsumexp);

/// aten/src/ATen/native/transformers/cuda/attention_backward.cu, _efficient_attention_backward: the gradients, a sum for
/// each query, and the workspace of mem_eff_attention/kernel_backward.h (workspace_size).
/// @param bias_grad bytes of the gradient of the bias, 0 for none
void take_efficient_backward(const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key,
                             const at::Tensor& value, std::size_t bias_grad, double dropout);

/// aten/src/ATen/native/cudnn/MHA.cpp, for [batch, heads, positions, width]: the output and logsumexp, the gradients. The
/// workspaces of cuDNN's plans are not written anywhere: for the backward a gradient of the query in float32 and a sum for
/// each query are assumed, as in flash attention.
void take_cudnn_forward(const at::Tensor& query, const at::Tensor& value);
void take_cudnn_backward(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value);

}  // namespace devsan::emulate
