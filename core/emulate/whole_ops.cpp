#include "emulate/whole_ops.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include "emulate/generator.h"
#include "emulate/host_allocator.h"
#include "emulate/tensor.h"

namespace devsan::emulate {
namespace {

// at::native's SDPBackend (aten/src/ATen/native/transformers/sdp_utils_cpp.h, SDPBackend): 1 is flash attention.
constexpr std::int64_t kMath = 0;
constexpr std::int64_t kFlash = 1;

/// Whether a backend that the CPU has is allowed (torch.nn.attention.sdpa_kernel). A program that allows only one of
/// CUDA's gets the composite, as it gets that one there.
bool has_host_backend() {
  const at::Context& context = at::globalContext();
  const bool only_cuda = context.userEnabledMemEfficientSDP() || context.userEnabledCuDNNSDP();
  return context.userEnabledFlashSDP() || context.userEnabledMathSDP() || !only_cuda;
}

/// A boolean mask as the additive one that the kernels take: 0 where it is true, -inf elsewhere.
std::optional<at::Tensor> additive(const std::optional<at::Tensor>& mask, at::ScalarType dtype) {
  if (!mask.has_value() || !mask->defined()) return std::nullopt;
  if (mask->scalar_type() != at::kBool) return mask;
  return at::zeros_like(*mask, mask->options().dtype(dtype))
      .masked_fill_(mask->logical_not(), -std::numeric_limits<double>::infinity());
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double probability,
                                                  std::optional<bool> train) {
  const c10::Device device = input.device();
  const at::AutoDispatchBelowADInplaceOrView below;
  const DeviceScope scope(device.index());
  const at::Tensor host = host_alias(input);
  if (train.has_value() && !*train) {
    return {adopt(host.clone(), device), adopt(at::ones_like(host, host.options().dtype(at::kBool)), device)};
  }
  const double keep = 1.0 - probability;
  at::Tensor mask = at::empty_like(host, host.options().dtype(at::kBool));
  mask.bernoulli_(keep, host_generator(at::Generator(), device.index()));
  at::Tensor output = host.mul(mask).mul_(keep == 0.0 ? 0.0 : 1.0 / keep);
  return {adopt(std::move(output), device), adopt(std::move(mask), device)};
}

bool use_no_ctc_library(const at::Tensor& /*log_probs*/, const at::Tensor& /*targets*/,
                        at::IntArrayRef /*input_lengths*/, at::IntArrayRef /*target_lengths*/, std::int64_t /*blank*/) {
  return false;
}

bool use_no_ctc_library_for_lengths(const at::Tensor& /*log_probs*/, const at::Tensor& /*targets*/,
                                    const at::Tensor& /*input_lengths*/, const at::Tensor& /*target_lengths*/,
                                    std::int64_t /*blank*/) {
  return false;
}

at::Tensor scaled_dot_product_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                        const std::optional<at::Tensor>& mask, double dropout, bool is_causal,
                                        std::optional<double> scale, bool enable_gqa) {
  const std::int64_t choice =
      has_host_backend() ? at::_fused_sdp_choice(query, key, value, mask, dropout, is_causal, scale, enable_gqa)
                         : kMath;
  const auto bias = additive(mask, query.scalar_type());
  if (choice == kFlash) {
    return std::get<0>(
        at::_scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout, is_causal, bias, scale));
  }
  return std::get<0>(at::_scaled_dot_product_attention_math(query, key, value, bias, dropout, is_causal,
                                                            /*dropout_mask=*/std::nullopt, scale, enable_gqa));
}

}  // namespace devsan::emulate
