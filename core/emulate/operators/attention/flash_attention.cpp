#include "emulate/operators/attention/flash_attention.h"

#include <ATen/Functions.h>

#include "emulate/operators/attention/attention.h"
#include "emulate/operators/attention/attention_memory.h"
#include "emulate/operators/attention/attention_parts.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/tensor.h"

namespace devsan::emulate {
namespace {

void check_flash(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  TORCH_CHECK(device(query.device().index()).spec.major >= 8, "FlashAttention only supports Ampere GPUs or newer.");
  TORCH_CHECK(query.scalar_type() == at::kHalf || query.scalar_type() == at::kBFloat16,
              "FlashAttention only support fp16 and bf16 data type");
  TORCH_CHECK(key.dtype() == query.dtype(), "query and key must have the same dtype");
  TORCH_CHECK(value.dtype() == query.dtype(), "query and value must have the same dtype");
  for (const at::Tensor* tensor : {&query, &key, &value}) {
    TORCH_CHECK(tensor->stride(-1) == 1, "Input tensor must have contiguous last dimension");
  }
  const std::int64_t width = query.size(-1);
  TORCH_CHECK(width % 8 == 0, "head_size must be a multiple of 8, this is ensured by padding!");
  TORCH_CHECK(width <= 256, "FlashAttention forward only supports head dimension at most 256");
  TORCH_CHECK(query.size(-2) % key.size(-2) == 0, "Number of heads in key/value must divide number of heads in query");
}

void refuse(bool asked, const char* what) {
  TORCH_CHECK_NOT_IMPLEMENTED(!asked, "devsan: expected a call of aten::_flash_attention_forward without ", what,
                              ", got one with it, which an emulated GPU does not have; see docs/limits.md");
}

/// The place of the dropout mask, as CUDA hands it from the forward to the backward.
at::Tensor to_rng_state(DropoutSeed seed, c10::Device device) {
  const at::Tensor host = at::empty({2}, at::kLong);
  host.mutable_data_ptr<std::int64_t>()[0] = seed.seed;
  host.mutable_data_ptr<std::int64_t>()[1] = seed.offset;
  return host.view(at::kUInt64).to(device);
}

DropoutSeed from_rng_state(const at::Tensor& state) {
  const at::Tensor host = state.to(at::kCPU).view(at::kLong);
  return {host.const_data_ptr<std::int64_t>()[0], host.const_data_ptr<std::int64_t>()[1]};
}

/// [batch, positions, heads, width], or [positions, heads, width], with the heads in front.
at::Tensor heads_first(const at::Tensor& tensor) {
  return (tensor.dim() == 3 ? tensor.unsqueeze(0) : tensor).transpose(1, 2);
}

at::Tensor positions_first(const at::Tensor& tensor, const at::Tensor& like) {
  const at::Tensor turned = tensor.transpose(1, 2);
  return like.dim() == 3 ? turned.squeeze(0) : turned;
}

std::int64_t window(const std::optional<c10::SymInt>& size) { return size.has_value() ? size->expect_int() : -1; }

Attention attention_of(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, double dropout,
                       bool is_causal, std::optional<double> scale, std::int64_t window_left,
                       std::int64_t window_right) {
  Attention attention;
  attention.query = heads_first(query);
  attention.key = heads_first(key);
  attention.value = heads_first(value);
  attention.causal = is_causal ? Causal::kFromBottomRight : Causal::kNot;
  attention.window_left = window_left;
  attention.window_right = window_right;
  attention.dropout = dropout;
  attention.scale = scale;
  return attention;
}

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> flash_attention_forward(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const std::optional<at::Tensor>& starts_q,
    const std::optional<at::Tensor>& starts_k, c10::SymInt /*max_q*/, c10::SymInt /*max_k*/, double dropout,
    bool is_causal, bool return_debug_mask, std::optional<double> scale, std::optional<c10::SymInt> window_left,
    std::optional<c10::SymInt> window_right, const std::optional<at::Tensor>& used_k,
    const std::optional<at::Tensor>& alibi_slopes) {
  TORCH_CHECK(is_given(starts_q) == is_given(starts_k),
              "cumulative_sequence_length_q and cumulative_sequence_length_k must be both set or both not set");
  check_flash(query, key, value);
  refuse(return_debug_mask && dropout > 0, "a debug mask");
  TORCH_CHECK(!return_debug_mask, "return_softmax is only supported when p_dropout > 0.0");
  refuse(is_given(alibi_slopes), "ALiBi slopes");
  refuse(is_given(used_k) && !is_given(starts_q), "seqused_k and no sequence starts");
  take_flash_forward(query, key, dropout);
  Attention attention =
      attention_of(query, key, value, dropout, is_causal, scale, window(window_left), window(window_right));
  if (dropout > 0) attention.seed = take_dropout_seed(query.device());
  Attended attended;
  if (is_given(starts_q)) {
    TORCH_CHECK(starts_q->scalar_type() == at::kInt, "cu_seqlens_q must have dtype int32");
    TORCH_CHECK(starts_k->scalar_type() == at::kInt, "cu_seqlens_k must have dtype int32");
    attended = AttentionParts(*starts_q, *starts_k, used_k.value_or(at::Tensor())).attend(attention);
    attended.logsumexp = attended.logsumexp.squeeze(0);
  } else {
    attended = attend(attention);
  }
  return {in_layout_of(positions_first(attended.output, query), query), attended.logsumexp.contiguous(),
          to_rng_state(attention.seed, query.device()), at::empty({}, query.options().dtype(at::kUInt64)),
          at::empty({0}, query.options())};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> flash_attention_forward_paged(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const std::optional<at::Tensor>& starts_q,
    const std::optional<at::Tensor>& starts_k, c10::SymInt max_q, c10::SymInt max_k, double dropout, bool is_causal,
    bool return_debug_mask, std::optional<double> scale, std::optional<c10::SymInt> window_left,
    std::optional<c10::SymInt> window_right, const std::optional<at::Tensor>& used_k,
    const std::optional<at::Tensor>& alibi_slopes, const std::optional<at::Tensor>& block_table,
    std::optional<std::int64_t> /*splits*/) {
  refuse(is_given(block_table), "a block table");
  return flash_attention_forward(query, key, value, starts_q, starts_k, std::move(max_q), std::move(max_k), dropout,
                                 is_causal, return_debug_mask, scale, std::move(window_left), std::move(window_right),
                                 used_k, alibi_slopes);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> flash_attention_backward(
    const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& output, const at::Tensor& logsumexp, const at::Tensor& starts_q, const at::Tensor& starts_k,
    c10::SymInt /*max_q*/, c10::SymInt /*max_k*/, double dropout, bool is_causal, const at::Tensor& rng_state,
    const at::Tensor& /*unused*/, std::optional<double> scale, std::optional<c10::SymInt> window_left,
    std::optional<c10::SymInt> window_right) {
  take_flash_backward(grad, query, key, value);
  Attention attention =
      attention_of(query, key, value, dropout, is_causal, scale, window(window_left), window(window_right));
  if (dropout > 0) attention.seed = from_rng_state(rng_state);
  const bool in_parts = starts_q.defined();
  const Attended attended{heads_first(output), in_parts ? logsumexp.unsqueeze(0) : logsumexp};
  const AttentionGradients gradients =
      in_parts ? AttentionParts(starts_q, starts_k, {}).attend_backward(attention, attended, heads_first(grad))
               : attend_backward(attention, attended, heads_first(grad), /*wants_bias=*/false);
  return {in_layout_of(positions_first(gradients.query, query), query),
          in_layout_of(positions_first(gradients.key, key), key),
          in_layout_of(positions_first(gradients.value, value), value)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt, at::Tensor, at::Tensor, at::Tensor>
scaled_dot_product_flash_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                   double dropout, bool is_causal, bool return_debug_mask,
                                   std::optional<double> scale) {
  TORCH_CHECK(key.size(2) == value.size(2), "Key and Value must have the same sequence length");
  auto [output, logsumexp, rng_state, unused, debug_mask] =
      flash_attention_forward(query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), std::nullopt,
                              std::nullopt, query.size(2), key.size(2), dropout, is_causal, return_debug_mask, scale,
                              std::nullopt, std::nullopt, std::nullopt, std::nullopt);
  return {output.transpose(1, 2), std::move(logsumexp), at::Tensor(),         at::Tensor(), query.size(2), key.size(2),
          std::move(rng_state),   std::move(unused),    std::move(debug_mask)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> scaled_dot_product_flash_attention_backward(
    const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& output, const at::Tensor& logsumexp, const at::Tensor& starts_q, const at::Tensor& starts_k,
    c10::SymInt max_q, c10::SymInt max_k, double dropout, bool is_causal, const at::Tensor& rng_state,
    const at::Tensor& unused, std::optional<double> scale) {
  if (!grad.defined()) return {};
  auto [for_query, for_key, for_value] = flash_attention_backward(
      grad.transpose(1, 2), query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), output.transpose(1, 2),
      logsumexp, starts_q, starts_k, std::move(max_q), std::move(max_k), dropout, is_causal, rng_state, unused, scale,
      std::nullopt, std::nullopt);
  return {for_query.transpose(1, 2), for_key.transpose(1, 2), for_value.transpose(1, 2)};
}

}  // namespace devsan::emulate
