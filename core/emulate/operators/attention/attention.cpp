#include "emulate/operators/attention/attention.h"

#include <cmath>
#include <limits>
#include <mutex>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "emulate/operators/attention/composite_attention.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/generator.h"
#include "emulate/runtime/tensor.h"

namespace devsan::emulate {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool has_bias(const Attention& attention) { return attention.bias.has_value() && attention.bias->defined(); }

bool is_square(const Attention& attention) { return attention.query.size(2) == attention.key.size(2); }

double scale_of(const Attention& attention) {
  return attention.scale.value_or(1.0 / std::sqrt(static_cast<double>(attention.query.size(3))));
}

/// Whether the CPU's flash kernel takes the call.
bool suits_host_kernel(const Attention& attention) {
  const bool aligned = attention.causal != Causal::kFromBottomRight || is_square(attention);
  const bool plain = attention.dropout == 0.0 && attention.window_left < 0 && attention.window_right < 0;
  const bool suits_bias = !has_bias(attention) || attention.bias->dim() == 2 || attention.bias->dim() == 4;
  return aligned && plain && suits_bias && attention.query.size(3) == attention.value.size(3) &&
         attention.query.numel() != 0 && attention.key.numel() != 0;
}

/// Keys or values for every head of the query: groups of heads share one.
at::Tensor for_each_head(const at::Tensor& shared, const at::Tensor& query) {
  const std::int64_t heads = query.size(1);
  return shared.size(1) == heads ? shared : shared.repeat_interleave(heads / shared.size(1), /*dim=*/1);
}

/// The gradient of what `for_each_head` repeated.
at::Tensor for_shared_heads(const at::Tensor& grad, const at::Tensor& shared) {
  if (grad.size(1) == shared.size(1)) return grad;
  return grad.unflatten(1, {shared.size(1), grad.size(1) / shared.size(1)}).sum(2);
}

/// Where a query must not look: [queries, keys], or undefined when it may look everywhere.
at::Tensor hidden(const Attention& attention) {
  const std::int64_t queries = attention.query.size(2);
  const std::int64_t keys = attention.key.size(2);
  const bool causal = attention.causal != Causal::kNot;
  if (!causal && attention.window_left < 0 && attention.window_right < 0) return {};
  const auto options = attention.query.options().dtype(at::kLong);
  // Windows are measured from the bottom right, as flash attention's are.
  const std::int64_t shift = attention.causal == Causal::kFromTopLeft ? 0 : keys - queries;
  const at::Tensor distance = at::arange(keys, options) - at::arange(queries, options).unsqueeze(1) - shift;
  const std::int64_t right = causal ? 0 : attention.window_right;
  at::Tensor mask = at::zeros({queries, keys}, options.dtype(at::kBool));
  if (right >= 0) mask = mask.logical_or(distance > right);
  if (attention.window_left >= 0) mask = mask.logical_or(distance < -attention.window_left);
  return mask;
}

at::Tensor scores_of(const Attention& attention, const at::Tensor& key) {
  at::Tensor scores =
      at::matmul(attention.query.to(at::kFloat), key.to(at::kFloat).transpose(-2, -1)) * scale_of(attention);
  if (has_bias(attention)) scores = scores + attention.bias->to(at::kFloat);
  const at::Tensor mask = hidden(attention);
  return mask.defined() ? scores.masked_fill(mask, -kInfinity) : scores;
}

/// 0 where dropout strikes, 1 / (1 - p) elsewhere.
at::Tensor dropout_factor(const Attention& attention, at::IntArrayRef sizes) {
  const double keep = 1.0 - attention.dropout;
  const at::Generator numbers = generator_at(attention.seed.seed, attention.seed.offset);
  const at::Tensor factor = at::empty(sizes, at::dtype(at::kFloat)).bernoulli_(keep, numbers).div_(keep);
  return factor.to(attention.query.device());
}

at::Tensor probabilities(const at::Tensor& scores, const at::Tensor& logsumexp) {
  return (scores - logsumexp.unsqueeze(-1)).exp();
}

}  // namespace

DropoutSeed take_dropout_seed(c10::Device device) {
  if (C10_UNLIKELY(draws_from_host())) {  // see NOTE [One stream of random numbers]
    auto* host = at::get_generator_or_default<at::CPUGeneratorImpl>({}, at::detail::getDefaultCPUGenerator());
    const std::lock_guard<std::mutex> lock(host->mutex_);
    return {static_cast<std::int64_t>(host->random64()), DeviceGenerator::kOffsetStep};
  }
  at::Generator& generator = emulate::device(device.index()).generator;
  const std::lock_guard<std::mutex> lock(generator.mutex());
  const std::uint64_t offset = generator.get_offset();
  generator.set_offset(offset + DeviceGenerator::kOffsetStep);
  return {static_cast<std::int64_t>(generator.current_seed()), static_cast<std::int64_t>(offset)};
}

at::Tensor& fill_dropout_mask_(at::Tensor& self, double dropout, std::int64_t seed, std::int64_t offset) {
  Attention attention;
  attention.query = self;
  attention.dropout = dropout;
  attention.seed = {seed, offset};
  return self.copy_(dropout_factor(attention, self.sizes()) > 0);
}

at::Tensor in_layout_of(const at::Tensor& tensor, const at::Tensor& operand) {
  at::Tensor result = at::empty_like(operand, tensor.options());
  return tensor.strides() == result.strides() ? tensor : result.copy_(tensor);
}

Attended attend(const Attention& attention) {
  const at::Tensor key = for_each_head(attention.key, attention.query);
  const at::Tensor value = for_each_head(attention.value, attention.query);
  if (suits_host_kernel(attention) && !(has_bias(attention) && attention.bias->requires_grad())) {
    auto [output, logsumexp] = at::_scaled_dot_product_flash_attention_for_cpu(
        attention.query, key, value, /*dropout_p=*/0.0, attention.causal != Causal::kNot, attention.bias,
        scale_of(attention));
    return {std::move(output), std::move(logsumexp)};
  }
  const at::Tensor scores = scores_of(attention, key);
  at::Tensor logsumexp = scores.logsumexp(-1);
  logsumexp.masked_fill_(logsumexp == -kInfinity, kInfinity);
  if (suits_composite(attention)) {
    Attention for_heads = attention;
    for_heads.key = key;
    for_heads.value = value;
    return {attend_by_composite(for_heads), std::move(logsumexp)};
  }
  at::Tensor weights = probabilities(scores, logsumexp);
  if (attention.dropout > 0) weights = weights * dropout_factor(attention, weights.sizes());
  return {at::matmul(weights, value.to(at::kFloat)).to(attention.query.scalar_type()), std::move(logsumexp)};
}

AttentionGradients attend_backward(const Attention& attention, const Attended& attended, const at::Tensor& grad,
                                   bool wants_bias) {
  const at::Tensor key = for_each_head(attention.key, attention.query);
  const at::Tensor value = for_each_head(attention.value, attention.query);
  AttentionGradients result;
  if (suits_host_kernel(attention) && !wants_bias) {
    std::tie(result.query, result.key, result.value) = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        grad, attention.query, key, value, attended.output, attended.logsumexp, /*dropout_p=*/0.0,
        attention.causal != Causal::kNot, attention.bias, scale_of(attention));
  } else if (suits_composite(attention)) {
    Attention for_heads = attention;
    for_heads.key = key;
    for_heads.value = value;
    result = composite_backward(for_heads, grad, wants_bias);
  } else {
    const at::Tensor clean = probabilities(scores_of(attention, key), attended.logsumexp);
    const at::Tensor wide_grad = grad.to(at::kFloat);
    at::Tensor weights = clean;
    at::Tensor weights_grad = at::matmul(wide_grad, value.to(at::kFloat).transpose(-2, -1));
    if (attention.dropout > 0) {
      const at::Tensor factor = dropout_factor(attention, clean.sizes());
      weights = clean * factor;
      weights_grad = weights_grad * factor;
    }
    const at::Tensor mean = (wide_grad * attended.output.to(at::kFloat)).sum(-1, /*keepdim=*/true);
    const at::Tensor scores_grad = clean * (weights_grad - mean);
    const double scale = scale_of(attention);
    const at::ScalarType type = attention.query.scalar_type();
    result.query = (at::matmul(scores_grad, key.to(at::kFloat)) * scale).to(type);
    result.key = (at::matmul(scores_grad.transpose(-2, -1), attention.query.to(at::kFloat)) * scale).to(type);
    result.value = at::matmul(weights.transpose(-2, -1), wide_grad).to(type);
    if (wants_bias) result.bias = scores_grad.sum_to_size(attention.bias->sizes()).to(attention.bias->scalar_type());
  }
  result.key = for_shared_heads(result.key, attention.key);
  result.value = for_shared_heads(result.value, attention.value);
  return result;
}

}  // namespace devsan::emulate
