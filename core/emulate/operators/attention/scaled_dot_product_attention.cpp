#include "emulate/operators/attention/scaled_dot_product_attention.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>

#include "emulate/operators/attention/attention_choice.h"

namespace devsan::emulate {
namespace {

// at::native's SDPBackend (aten/src/ATen/native/transformers/sdp_utils_cpp.h, SDPBackend): 1 is flash attention.
constexpr std::int64_t kMath = 0;
constexpr std::int64_t kFlash = 1;

/// Which of the CPU's ways takes the call. Where the program does not allow the composite (torch.nn.attention.sdpa_kernel),
/// CUDA's choice is made for it: an error, or one of the fused kernels, whose place the CPU's flash kernel takes if it can.
std::int64_t choose(const AttentionCall& call, std::optional<double> scale) {
  if (C10_LIKELY(at::globalContext().userEnabledMathSDP())) {
    // The CPU's choice asks this of the mask too (sdp_utils_cpp.h, check_attn_mask_shape), but is given its host alias,
    // which requires no gradient.
    if (call.mask.has_value() && call.mask->requires_grad()) return kMath;
    return at::_fused_sdp_choice(call.query, call.key, call.value, call.mask, call.dropout, call.is_causal, scale,
                                 call.enable_gqa);
  }
  require_attention_kernel(call);
  const bool plain = call.dropout == 0.0 && !call.mask.has_value() && !call.enable_gqa && !call.query.is_nested();
  return plain && call.query.size(-1) == call.value.size(-1) ? kFlash : kMath;
}

/// A boolean mask as the additive one that the kernels take: 0 where it is true, -inf elsewhere.
std::optional<at::Tensor> additive(const std::optional<at::Tensor>& mask, at::ScalarType dtype) {
  if (!mask.has_value() || !mask->defined()) return std::nullopt;
  if (mask->scalar_type() != at::kBool) return mask;
  return at::zeros_like(*mask, mask->options().dtype(dtype))
      .masked_fill_(mask->logical_not(), -std::numeric_limits<double>::infinity());
}

}  // namespace

at::Tensor scaled_dot_product_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                        const std::optional<at::Tensor>& mask, double dropout, bool is_causal,
                                        std::optional<double> scale, bool enable_gqa) {
  const std::int64_t choice = choose({query, key, value, mask, dropout, is_causal, enable_gqa}, scale);
  const auto bias = additive(mask, query.scalar_type());
  if (choice == kFlash && query.dim() == 3) {  // torch 2.14 and later: as a batch of one
    const auto mask_of_one = bias.has_value() && bias->dim() == 3 ? std::optional(bias->unsqueeze(0)) : bias;
    return std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(query.unsqueeze(0), key.unsqueeze(0),
                                                                       value.unsqueeze(0), dropout, is_causal,
                                                                       mask_of_one, scale))
        .squeeze(0);
  }
  if (choice == kFlash) {
    return std::get<0>(
        at::_scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout, is_causal, bias, scale));
  }
  return std::get<0>(at::_scaled_dot_product_attention_math(query, key, value, bias, dropout, is_causal,
                                                            /*dropout_mask=*/std::nullopt, scale, enable_gqa));
}

}  // namespace devsan::emulate
