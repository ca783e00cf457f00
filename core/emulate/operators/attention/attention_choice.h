#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

/// What scaled_dot_product_attention was called with.
struct AttentionCall {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  std::optional<at::Tensor> mask;
  double dropout = 0.0;
  bool is_causal = false;
  bool enable_gqa = false;
};

// Whether a fused kernel of CUDA's takes the call on the current GPU: the filters of
// aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, many of them torch's own functions.
// `explain` warns of the first that fails, in torch's words.

bool can_use_flash_attention(const AttentionCall& call, bool explain);
bool can_use_efficient_attention(const AttentionCall& call, bool explain);
bool can_use_cudnn_attention(const AttentionCall& call, bool explain);

/// Raises as CUDA does where the backends that the program allows (torch.nn.attention.sdpa_kernel) leave no kernel.
/// Costs nothing while the math backend is allowed, which takes everything.
void require_attention_kernel(const AttentionCall& call);

/// Lets torch ask for that choice where it works with shapes alone: for a DTensor's or a traced tensor's attention it
/// looks for CUDA's function. A build without CUDA lacks it; in one with CUDA it asks the driver, and has its place back
/// while no GPU is emulated.
void register_attention_choice();

/// aten::scaled_dot_product_attention, above autograd: the kernel that CUDA would choose on the current GPU, or the
/// composite of matmul and softmax. Each is carried out on the host, and takes the memory of CUDA's.
at::Tensor scaled_dot_product_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                        const std::optional<at::Tensor>& mask, double dropout, bool is_causal,
                                        std::optional<double> scale, bool enable_gqa);

}  // namespace devsan::emulate
