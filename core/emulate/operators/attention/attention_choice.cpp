#include "emulate/operators/attention/attention_choice.h"

#include <array>

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/transformers/attention.h>

#include "emulate/operators/attention/attention_filters.h"
#include "emulate/runtime/device.h"

namespace devsan::emulate {
namespace {

using Filter = bool (*)(const sdp::sdp_params&, bool);

template <std::size_t count>
bool pass(const std::array<Filter, count>& filters, const sdp::sdp_params& params, bool explain) {
  for (const Filter filter : filters) {
    if (!filter(params, explain)) return false;
  }
  return true;
}

sdp::sdp_params params_of(const AttentionCall& call) {
  return {call.query, call.key, call.value, call.mask, call.dropout, call.is_causal, call.enable_gqa};
}

}  // namespace

bool can_use_flash_attention(const AttentionCall& call, bool explain) {
  static constexpr std::array<Filter, 9> kGeneral{sdp::check_runtime_disabled_flash,
                                                  is_on_gpu,
                                                  sdp::check_tensor_shapes,
                                                  sdp::check_for_attn_mask,
                                                  fits_flash_width,
                                                  has_flash_gpu,
                                                  trains_flash_width,
                                                  is_square_if_causal,
                                                  is_low_precision};
  static constexpr std::array<Filter, 3> kDense{sdp::check_batch_size_and_num_heads_dense<true>,
                                                sdp::check_nonzero_sequence_lengths_dense,
                                                sdp::check_last_dim_stride_equals_1_dense<true>};
  const sdp::sdp_params params = params_of(call);
  return pass(kGeneral, params, explain) && (!sdp::has_only_dense_inputs(params) || pass(kDense, params, explain));
}

bool can_use_efficient_attention(const AttentionCall& call, bool explain) {
  static constexpr std::array<Filter, 5> kGeneral{sdp::check_runtime_disabled_mem_efficient, is_on_gpu,
                                                  has_efficient_gpu, sdp::check_tensor_shapes, fits_efficient_width};
  static constexpr std::array<Filter, 3> kDense{sdp::check_nonzero_sequence_lengths_dense,
                                                sdp::check_last_dim_stride_equals_1_dense<false>,
                                                sdp::check_batch_size_and_num_heads_dense<false>};
  const sdp::sdp_params params = params_of(call);
  return pass(kGeneral, params, explain) && (!sdp::has_only_dense_inputs(params) || pass(kDense, params, explain)) &&
         is_efficient_type(params, explain);
}

bool can_use_cudnn_attention(const AttentionCall& call, bool explain) {
  static constexpr std::array<Filter, 7> kGeneral{
      is_cudnn_allowed,           is_not_nested, is_on_gpu, sdp::check_tensor_shapes, is_low_precision,
      sdp::check_attn_mask_shape, has_cudnn_gpu};
  static constexpr std::array<Filter, 3> kDense{sdp::check_nonzero_sequence_lengths_dense,
                                                sdp::check_last_dim_stride_equals_1_dense<true>, fits_cudnn_width};
  const sdp::sdp_params params = params_of(call);
  return pass(kGeneral, params, explain) && (!sdp::has_only_dense_inputs(params) || pass(kDense, params, explain));
}

void require_attention_kernel(const AttentionCall& call) {
  const at::Context& context = at::globalContext();
  if (C10_LIKELY(context.userEnabledMathSDP())) return;
  TORCH_CHECK(context.userEnabledFlashSDP() || context.userEnabledMemEfficientSDP() || context.userEnabledCuDNNSDP(),
              "No viable backend for scaled_dot_product_attention was found. ",
              "This is likely due to turning off both the math kernel and the fused kernels.");
  if (can_use_flash_attention(call, false) || can_use_efficient_attention(call, false) ||
      can_use_cudnn_attention(call, false)) {
    return;
  }
  TORCH_WARN("Memory efficient kernel not used because:");
  can_use_efficient_attention(call, true);
  TORCH_WARN("Flash attention kernel not used because:");
  can_use_flash_attention(call, true);
  TORCH_WARN("cuDNN attention kernel not used because:");
  can_use_cudnn_attention(call, true);
  TORCH_CHECK(false, "No available kernel. Aborting execution.");
}

namespace {

using Choose = std::int64_t(const at::Tensor&, const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                            double, bool, std::optional<double>, bool);

/// CUDA's own choice, of a build that has it: it asks the driver about the GPU.
const c10::TypedOperatorHandle<Choose>& choice_of_torch() {
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::_fused_sdp_choice", "").typed<Choose>();
  return op;
}

// In the order of the default priorities (aten/src/ATen/Context.h); the numbers are SDPBackend's.
std::int64_t choose_from_shapes(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                const std::optional<at::Tensor>& mask, double dropout, bool is_causal,
                                std::optional<double> scale, bool enable_gqa) {
  if (device_count() == 0 && choice_of_torch().hasKernelForDispatchKey(c10::DispatchKey::CUDA)) {
    return choice_of_torch().redispatch(c10::DispatchKeySet(c10::DispatchKey::CUDA), query, key, value, mask, dropout,
                                        is_causal, scale, enable_gqa);
  }
  const AttentionCall call{query, key, value, mask, dropout, is_causal, enable_gqa};
  require_attention_kernel(call);
  if (can_use_flash_attention(call, false)) return 1;
  if (can_use_efficient_attention(call, false)) return 2;
  return at::globalContext().userEnabledMathSDP() ? 0 : 3;
}

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

void register_attention_choice() { at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&choose_from_shapes); }

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
