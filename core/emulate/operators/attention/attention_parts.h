#pragma once

#include <vector>

#include "emulate/operators/attention/attention.h"

namespace devsan::emulate {

/// Attention over a batch of sequences of several lengths, which lie one after the other in one tensor.
///
/// Query, key, value and results are [1, heads, all positions, width]; each part attends to itself alone.
class AttentionParts {
 public:
  /// @param starts_q, starts_k int32 [parts + 1]: where each sequence begins, and where the last ends
  /// @param used_k int32 [parts] or undefined: how many keys of each part count
  AttentionParts(const at::Tensor& starts_q, const at::Tensor& starts_k, const at::Tensor& used_k);

  std::size_t size() const { return queries_.size(); }
  /// Queries of part `index`.
  std::int64_t queries(std::size_t index) const { return queries_[index].length; }

  /// `attention` restricted to part `index`.
  Attention part(const Attention& attention, std::size_t index) const;
  /// What belongs to the queries of part `index` in a tensor with positions at `dim`.
  at::Tensor queries_of(const at::Tensor& tensor, std::size_t index, std::int64_t dim) const;
  at::Tensor keys_of(const at::Tensor& tensor, std::size_t index, std::int64_t dim) const;

  /// The results of all parts, each in its place; logsumexp [1, heads, all queries].
  Attended attend(const Attention& attention) const;
  AttentionGradients attend_backward(const Attention& attention, const Attended& attended,
                                     const at::Tensor& grad) const;

 private:
  struct Range {
    std::int64_t start;
    std::int64_t length;
  };

  std::vector<Range> queries_;
  std::vector<Range> keys_;
};

}  // namespace devsan::emulate
