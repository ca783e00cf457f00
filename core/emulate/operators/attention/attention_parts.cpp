#include "emulate/operators/attention/attention_parts.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace devsan::emulate {
namespace {

std::vector<std::int64_t> values_of(const at::Tensor& numbers) {
  const at::Tensor host = numbers.to(at::kCPU, at::kLong).contiguous();
  const auto* data = host.const_data_ptr<std::int64_t>();
  return {data, data + host.numel()};
}

}  // namespace

AttentionParts::AttentionParts(const at::Tensor& starts_q, const at::Tensor& starts_k, const at::Tensor& used_k) {
  const std::vector<std::int64_t> from_q = values_of(starts_q);
  const std::vector<std::int64_t> from_k = values_of(starts_k);
  const std::vector<std::int64_t> used = used_k.defined() ? values_of(used_k) : std::vector<std::int64_t>();
  for (std::size_t i = 0; i + 1 < from_q.size(); ++i) {
    queries_.push_back({from_q[i], from_q[i + 1] - from_q[i]});
    keys_.push_back({from_k[i], used.empty() ? from_k[i + 1] - from_k[i] : used[i]});
  }
}

at::Tensor AttentionParts::queries_of(const at::Tensor& tensor, std::size_t index, std::int64_t dim) const {
  return tensor.narrow(dim, queries_[index].start, queries_[index].length);
}

at::Tensor AttentionParts::keys_of(const at::Tensor& tensor, std::size_t index, std::int64_t dim) const {
  return tensor.narrow(dim, keys_[index].start, keys_[index].length);
}

Attention AttentionParts::part(const Attention& attention, std::size_t index) const {
  Attention part = attention;
  part.query = queries_of(attention.query, index, 2);
  part.key = keys_of(attention.key, index, 2);
  part.value = keys_of(attention.value, index, 2);
  part.seed.offset += static_cast<std::int64_t>(index);  // each part draws a mask of its own
  if (attention.bias.has_value() && attention.bias->defined()) {
    // Padded to the longest part: the bias begins with each part again.
    part.bias = attention.bias->narrow(2, 0, queries_[index].length).narrow(3, 0, keys_[index].length);
  }
  return part;
}

Attended AttentionParts::attend(const Attention& attention) const {
  std::vector<std::int64_t> sizes = attention.query.sizes().vec();
  sizes[3] = attention.value.size(3);
  Attended whole{at::zeros(sizes, attention.query.options()),
                 at::zeros({1, sizes[1], sizes[2]}, attention.query.options().dtype(at::kFloat))};
  for (std::size_t i = 0; i < size(); ++i) {
    if (queries_[i].length == 0) continue;
    const Attended one = emulate::attend(part(attention, i));
    queries_of(whole.output, i, 2).copy_(one.output);
    queries_of(whole.logsumexp, i, 2).copy_(one.logsumexp);
  }
  return whole;
}

AttentionGradients AttentionParts::attend_backward(const Attention& attention, const Attended& attended,
                                                   const at::Tensor& grad) const {
  AttentionGradients whole{at::zeros_like(attention.query), at::zeros_like(attention.key),
                           at::zeros_like(attention.value), at::Tensor()};
  for (std::size_t i = 0; i < size(); ++i) {
    if (queries_[i].length == 0) continue;
    const Attended one{queries_of(attended.output, i, 2), queries_of(attended.logsumexp, i, 2)};
    const AttentionGradients gradients =
        emulate::attend_backward(part(attention, i), one, queries_of(grad, i, 2), /*wants_bias=*/false);
    queries_of(whole.query, i, 2).copy_(gradients.query);
    keys_of(whole.key, i, 2).copy_(gradients.key);
    keys_of(whole.value, i, 2).copy_(gradients.value);
  }
  return whole;
}

}  // namespace devsan::emulate
