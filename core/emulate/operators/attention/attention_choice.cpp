#include "emulate/operators/attention/attention_choice.h"

#include <array>

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <c10/util/env.h>

#include "emulate/operators/attention/attention_filters.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/tensor.h"

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

using sdp::SDPBackend;

// check_prefer_cudnn_attention of sdp_utils.cpp: since torch 2.11 with its cuDNN, on Hopper and Blackwell.
bool prefers_cudnn() {
  static const bool is_deprioritized = c10::utils::check_env("TORCH_CUDNN_SDPA_DEPRIORITIZED") == true;
  const model::DeviceSpec& gpu = device(current_device()).spec;
  return !is_deprioritized && (gpu.major == 9 || gpu.major == 10) && gpu.minor == 0;
}

/// Whether the program has left torch's order of backends as it is (torch.nn.attention.sdpa_kernel, set_priority).
bool is_default_order(const std::array<SDPBackend, at::num_sdp_backends>& order) {
  return order[0] == SDPBackend::flash_attention && order[1] == SDPBackend::efficient_attention &&
         order[2] == SDPBackend::math;
}

bool takes(SDPBackend backend, const AttentionCall& call) {
  switch (backend) {
    case SDPBackend::flash_attention:
      return can_use_flash_attention(call, false);
    case SDPBackend::efficient_attention:
      return can_use_efficient_attention(call, false);
    case SDPBackend::cudnn_attention:
      return can_use_cudnn_attention(call, false);
    case SDPBackend::math:
      return at::globalContext().userEnabledMathSDP();
    default:
      return false;
  }
}

/// select_sdp_backend of sdp_utils.cpp: the first backend in the order of priorities that takes the call.
SDPBackend select(const AttentionCall& call) {
  require_attention_kernel(call);
  const auto order = at::globalContext().sDPPriorityOrder();
  if (is_default_order(order) && prefers_cudnn() && takes(SDPBackend::cudnn_attention, call)) {
    return SDPBackend::cudnn_attention;
  }
  for (const SDPBackend backend : order) {
    if (takes(backend, call)) return backend;
  }
  return SDPBackend::math;
}

using Choose = std::int64_t(const at::Tensor&, const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                            double, bool, std::optional<double>, bool);

/// CUDA's own choice, of a build that has it: it asks the driver about the GPU.
const c10::TypedOperatorHandle<Choose>& choice_of_torch() {
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::_fused_sdp_choice", "").typed<Choose>();
  return op;
}

std::int64_t choose_from_shapes(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                const std::optional<at::Tensor>& mask, double dropout, bool is_causal,
                                std::optional<double> scale, bool enable_gqa) {
  if (device_count() == 0 && choice_of_torch().hasKernelForDispatchKey(c10::DispatchKey::CUDA)) {
    return choice_of_torch().redispatch(c10::DispatchKeySet(c10::DispatchKey::CUDA), query, key, value, mask, dropout,
                                        is_causal, scale, enable_gqa);
  }
  return static_cast<std::int64_t>(select({query, key, value, mask, dropout, is_causal, enable_gqa}));
}

/// A boolean mask as the additive one that the kernels take: 0 where it is true, -inf elsewhere.
std::optional<at::Tensor> additive(const std::optional<at::Tensor>& mask, at::ScalarType dtype) {
  if (!mask.has_value() || !mask->defined()) return std::nullopt;
  if (mask->scalar_type() != at::kBool) return mask;
  return at::zeros_like(*mask, mask->options().dtype(dtype))
      .masked_fill_(mask->logical_not(), -std::numeric_limits<double>::infinity());
}

/// pad_last_dim of aten/src/ATen/native/transformers/attention.cpp.
at::Tensor padded(const at::Tensor& tensor, std::int64_t step) {
  const std::int64_t rest = tensor.size(-1) % step;
  return rest == 0 ? tensor : at::constant_pad_nd(tensor, {0, step - rest}, 0);
}

/// preprocess_mask of the same file: a mask for each head and batch, each row of which is aligned.
std::optional<at::Tensor> aligned(const std::optional<at::Tensor>& bias, const at::Tensor& query,
                                  const at::Tensor& key) {
  if (!bias.has_value()) return bias;
  constexpr std::int64_t kStep = 16;
  const std::int64_t keys = key.size(2);
  if (keys % kStep != 0) {
    const at::Tensor wide = padded(*bias, kStep);
    return wide.expand({query.size(0), query.size(1), query.size(2), wide.size(-1)}).slice(-1, 0, keys);
  }
  const at::Tensor whole = bias->expand({query.size(0), query.size(1), query.size(2), keys});
  for (const std::int64_t stride : whole.strides().slice(0, 3)) {
    if (stride % kStep != 0) return whole.contiguous();
  }
  return whole;
}

at::Tensor attend_by_flash(const AttentionCall& call, double scale) {
  constexpr std::int64_t kStep = 8;
  const at::Tensor output = std::get<0>(
      at::_scaled_dot_product_flash_attention(padded(call.query, kStep), padded(call.key, kStep),
                                              padded(call.value, kStep), call.dropout, call.is_causal, false, scale));
  const std::int64_t width = call.query.size(-1);
  return output.size(-1) == width ? output : output.slice(-1, 0, width);
}

bool wants_gradient(const AttentionCall& call) {
  return at::GradMode::is_enabled() &&
         (call.query.requires_grad() || call.key.requires_grad() || call.value.requires_grad() ||
          (is_given(call.mask) && call.mask->requires_grad()));
}

}  // namespace

void register_attention_choice() { at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&choose_from_shapes); }

at::Tensor scaled_dot_product_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                        const std::optional<at::Tensor>& mask, double dropout, bool is_causal,
                                        std::optional<double> scale, bool enable_gqa) {
  const AttentionCall call{query, key, value, mask, dropout, is_causal, enable_gqa};
  const auto bias = additive(mask, query.scalar_type());
  const bool is_known = device_count() > 0 && !query.is_nested();
  switch (is_known ? select(call) : SDPBackend::math) {
    case SDPBackend::flash_attention:
      return attend_by_flash(call, sdp::calculate_scale(query, scale).expect_float());
    case SDPBackend::efficient_attention:
      return std::get<0>(at::_scaled_dot_product_efficient_attention(query, key, value, aligned(bias, query, key),
                                                                     wants_gradient(call), dropout, is_causal, scale));
    case SDPBackend::cudnn_attention:
      return std::get<0>(at::_scaled_dot_product_cudnn_attention(query, key, value, bias, wants_gradient(call), dropout,
                                                                 is_causal, false, scale));
    default:
      return std::get<0>(at::_scaled_dot_product_attention_math(query, key, value, bias, dropout, is_causal,
                                                                /*dropout_mask=*/std::nullopt, scale, enable_gqa));
  }
}

}  // namespace devsan::emulate
