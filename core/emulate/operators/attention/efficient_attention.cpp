#include "emulate/operators/attention/efficient_attention.h"

#include <limits>

#include <ATen/Functions.h>

#include "emulate/operators/attention/attention.h"
#include "emulate/operators/attention/attention_memory.h"
#include "emulate/operators/attention/attention_parts.h"
#include "emulate/runtime/tensor.h"

namespace devsan::emulate {
namespace {

constexpr std::int64_t kLogSumAlignment = 32;  // kernel_forward.h, kAlignLSE

void check_efficient(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value) {
  // DISPATCH_TYPES of aten/src/ATen/native/transformers/cuda/mem_eff_attention/gemm_kernel_utils.h
  const at::ScalarType type = query.scalar_type();
  TORCH_CHECK(type == at::kFloat || type == at::kHalf || type == at::kBFloat16,
              "Only fp32, half & bf16 supported at the moment");
  for (const at::Tensor* tensor : {&query, &key, &value}) TORCH_CHECK(tensor->dim() == 4);
  TORCH_CHECK(query.size(0) == key.size(0) && query.size(0) == value.size(0));
  TORCH_CHECK(key.size(1) == value.size(1));
  TORCH_CHECK(query.size(3) == key.size(3));
}

/// aten/src/ATen/native/transformers/cuda/attention.cu and attention_backward.cu: one pointer type is that of all operands.
void check_bias(const std::optional<at::Tensor>& bias, const at::Tensor& query) {
  TORCH_CHECK(!is_given(bias) || bias->scalar_type() == query.scalar_type(),
              "invalid dtype for bias - should match query's dtype");
}

void refuse_window(std::optional<std::int64_t> window) {
  TORCH_CHECK_NOT_IMPLEMENTED(window.value_or(0) <= 0,
                              "devsan: expected a call of aten::_efficient_attention_forward without window_size, got ",
                              window.value_or(0), ", which an emulated GPU does not have; see docs/limits.md");
}

/// Positions behind heads.
Attention attention_of(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                       const std::optional<at::Tensor>& bias, Causal causal, double dropout,
                       std::optional<double> scale) {
  Attention attention;
  attention.query = query;
  attention.key = key;
  attention.value = value;
  if (is_given(bias)) attention.bias = bias;
  attention.causal = causal;
  attention.dropout = dropout;
  attention.scale = scale;
  return attention;
}

at::Tensor number(std::int64_t value) { return at::scalar_tensor(value, at::dtype(at::kLong)); }

DropoutSeed seed_of(const at::Tensor& seed, const at::Tensor& offset) {
  return {seed.item<std::int64_t>(), offset.item<std::int64_t>()};
}

/// The kernel's logsumexp begins each row of queries at a multiple of its alignment.
at::Tensor aligned(const at::Tensor& logsumexp, std::int64_t queries) {
  const std::int64_t padded = (queries + kLogSumAlignment - 1) / kLogSumAlignment * kLogSumAlignment;
  return at::constant_pad_nd(logsumexp, {0, padded - logsumexp.size(2)}, std::numeric_limits<double>::infinity());
}

/// From [parts, heads, longest] to [1, heads, all positions], and back.
at::Tensor joined(const AttentionParts& parts, const at::Tensor& logsumexp) {
  std::vector<at::Tensor> rows;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    rows.push_back(logsumexp[static_cast<std::int64_t>(i)].narrow(1, 0, parts.queries(i)));
  }
  return at::cat(rows, 1).unsqueeze(0);
}

at::Tensor split(const AttentionParts& parts, const at::Tensor& logsumexp, std::int64_t longest) {
  std::vector<at::Tensor> rows;
  for (std::size_t i = 0; i < parts.size(); ++i) rows.push_back(aligned(parts.queries_of(logsumexp, i, 2), longest));
  return at::cat(rows, 0);
}

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt> efficient_attention_forward(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& starts_q, const std::optional<at::Tensor>& starts_k,
    std::optional<c10::SymInt> max_q, std::optional<c10::SymInt> max_k, double dropout, std::int64_t mask_type,
    bool wants_logsumexp, std::optional<double> scale, const std::optional<at::Tensor>& used_k,
    std::optional<std::int64_t> window) {
  check_efficient(query, key, value);
  check_bias(bias, query);
  refuse_window(window);
  TORCH_CHECK(is_given(starts_q) == is_given(starts_k));
  take_efficient_forward(query, value, wants_logsumexp);
  Attention attention = attention_of(query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), bias,
                                     static_cast<Causal>(mask_type), dropout, scale);
  if (dropout > 0) attention.seed = take_dropout_seed(query.device());
  std::int64_t longest = query.size(1);
  std::int64_t longest_key = key.size(1);
  Attended attended;
  if (is_given(starts_q)) {
    TORCH_CHECK(query.size(0) == 1, "cu_seqlen only supports batch_size=1");
    TORCH_CHECK(max_q.has_value());
    longest = max_q->expect_int();
    longest_key = 0;  // as the kernel leaves it
    const AttentionParts parts(*starts_q, *starts_k, used_k.value_or(at::Tensor()));
    attended = parts.attend(attention);
    attended.logsumexp = split(parts, attended.logsumexp, longest);
  } else {
    attended = attend(attention);
    attended.logsumexp = aligned(attended.logsumexp, longest);
  }
  if (!wants_logsumexp) attended.logsumexp = attended.logsumexp.narrow(2, 0, 0).contiguous();
  const auto on_host = at::TensorOptions(at::kCPU).dtype(at::kLong);  // with or without dropout
  return {attended.output.transpose(1, 2).contiguous(),
          attended.logsumexp,
          dropout > 0 ? number(attention.seed.seed) : at::empty({}, on_host),
          dropout > 0 ? number(attention.seed.offset) : at::empty({}, on_host),
          longest,
          max_k.has_value() ? *max_k : c10::SymInt(longest_key)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> efficient_attention_backward(
    const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const std::optional<at::Tensor>& bias, const at::Tensor& output, const std::optional<at::Tensor>& starts_q,
    const std::optional<at::Tensor>& starts_k, c10::SymInt /*max_q*/, c10::SymInt /*max_k*/,
    const at::Tensor& logsumexp, double dropout, const at::Tensor& seed, const at::Tensor& offset,
    std::int64_t mask_type, bool wants_bias, std::optional<double> scale, std::optional<std::int64_t> /*splits*/,
    std::optional<std::int64_t> window, bool /*shared_storage*/) {
  if (!grad.defined()) return {};
  check_bias(bias, query);
  refuse_window(window);
  take_efficient_backward(grad, query, key, value, wants_bias ? bias->nbytes() : 0, dropout);
  Attention attention = attention_of(query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), bias,
                                     static_cast<Causal>(mask_type), dropout, scale);
  if (dropout > 0) attention.seed = seed_of(seed, offset);
  const at::Tensor turned_grad = grad.transpose(1, 2);
  AttentionGradients gradients;
  if (is_given(starts_q)) {
    TORCH_CHECK_NOT_IMPLEMENTED(!wants_bias, "devsan: expected a bias without gradient for sequences of several ",
                                "lengths, got one that wants it; see docs/limits.md");
    const AttentionParts parts(*starts_q, *starts_k, {});
    gradients = parts.attend_backward(attention, {output.transpose(1, 2), joined(parts, logsumexp)}, turned_grad);
  } else {
    const Attended attended{output.transpose(1, 2), logsumexp.narrow(2, 0, query.size(1))};
    gradients = attend_backward(attention, attended, turned_grad, wants_bias);
  }
  return {gradients.query.transpose(1, 2).contiguous(), gradients.key.transpose(1, 2).contiguous(),
          gradients.value.transpose(1, 2).contiguous(), gradients.bias};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> scaled_dot_product_efficient_attention(
    const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, const std::optional<at::Tensor>& bias,
    bool wants_logsumexp, double dropout, bool is_causal, std::optional<double> scale) {
  auto result = efficient_attention_forward(query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), bias,
                                            std::nullopt, std::nullopt, std::nullopt, std::nullopt, dropout,
                                            is_causal ? 1 : 0, wants_logsumexp, scale, std::nullopt, std::nullopt);
  return {std::get<0>(result).transpose(1, 2), std::get<1>(result), std::get<2>(result), std::get<3>(result)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> scaled_dot_product_efficient_attention_backward(
    const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& bias, const at::Tensor& output, const at::Tensor& logsumexp, const at::Tensor& seed,
    const at::Tensor& offset, double dropout, std::array<bool, 4> wanted, bool is_causal, std::optional<double> scale) {
  if (!grad.defined()) return {};
  auto [for_query, for_key, for_value, for_bias] = efficient_attention_backward(
      grad.transpose(1, 2), query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), bias,
      output.transpose(1, 2), std::nullopt, std::nullopt, query.size(2), key.size(2), logsumexp, dropout, seed, offset,
      is_causal ? 1 : 0, wanted[3], scale, std::nullopt, std::nullopt, /*shared_storage=*/false);
  return {for_query.transpose(1, 2), for_key.transpose(1, 2), for_value.transpose(1, 2), for_bias};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt, at::Tensor, at::Tensor, at::Tensor>
scaled_dot_product_cudnn_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                   const std::optional<at::Tensor>& bias, bool /*wants_logsumexp*/, double dropout,
                                   bool is_causal, bool /*return_debug_mask*/, std::optional<double> scale) {
  TORCH_CHECK(key.size(2) == value.size(2), "Key and Value must have the same sequence length");
  take_cudnn_forward(query, value);
  Attention attention =
      attention_of(query, key, value, bias, is_causal ? Causal::kFromTopLeft : Causal::kNot, dropout, scale);
  if (dropout > 0) attention.seed = take_dropout_seed(query.device());
  const Attended attended = attend(attention);
  return {attended.output.sizes() == query.sizes() ? in_layout_of(attended.output, query) : attended.output,
          attended.logsumexp.unsqueeze(-1).contiguous(),
          at::Tensor(),
          at::Tensor(),
          query.size(2),
          key.size(2),
          number(attention.seed.seed).to(query.device()),
          number(attention.seed.offset).to(query.device()),
          at::Tensor()};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> scaled_dot_product_cudnn_attention_backward(
    const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& output, const at::Tensor& logsumexp, const at::Tensor& seed, const at::Tensor& offset,
    const at::Tensor& bias, const at::Tensor& /*starts_q*/, const at::Tensor& /*starts_k*/, c10::SymInt /*max_q*/,
    c10::SymInt /*max_k*/, double dropout, bool is_causal, std::optional<double> scale) {
  if (!grad.defined()) return {};
  take_cudnn_backward(query, key, value);
  Attention attention =
      attention_of(query, key, value, bias, is_causal ? Causal::kFromTopLeft : Causal::kNot, dropout, scale);
  if (dropout > 0) attention.seed = seed_of(seed, offset);
  const AttentionGradients gradients =
      attend_backward(attention, {output, logsumexp.squeeze(-1)}, grad, /*wants_bias=*/false);
  return {in_layout_of(gradients.query, query), in_layout_of(gradients.key, key), in_layout_of(gradients.value, value)};
}

}  // namespace devsan::emulate
