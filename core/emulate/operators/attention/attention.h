#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

// NOTE [Fused attention]
// CUDA's fused attention kernels (flash, memory-efficient, cuDNN's) never hold the matrix of scores. Where the CPU's
// flash kernel takes the call it carries it out, in as little memory. What that kernel lacks is computed by torch's
// composite (dropout, a gradient for the bias, a value as wide as it likes), so that numbers are those of a CPU tensor,
// or from the definition in float32 (windows). Both have the scores in host memory, which no GPU is charged with.
// Dropout's mask is drawn again in the backward, from the seed and offset that the forward returned.

/// Where the diagonal of a causal mask begins when there are more keys than queries, or fewer. The values are those of
/// `custom_mask_type` (aten/src/ATen/native/transformers/cuda/sdp_utils.h, CustomMaskType).
enum class Causal : std::int64_t { kNot = 0, kFromTopLeft = 1, kFromBottomRight = 2 };

/// The stream of a dropout mask: the place of the device's generator at the forward.
struct DropoutSeed {
  std::int64_t seed = 0;
  std::int64_t offset = 0;
};

/// Takes the next place of the default generator of `device`, and moves it on.
DropoutSeed take_dropout_seed(c10::Device device);

/// One attention: query [batch, heads, queries, width], key and value [batch, heads or a divisor of it, keys, width].
struct Attention {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  std::optional<at::Tensor> bias;  ///< added to the scores; broadcasts to [batch, heads, queries, keys]
  Causal causal = Causal::kNot;
  std::int64_t window_left = -1;   ///< keys before the diagonal that a query sees; negative for all
  std::int64_t window_right = -1;  ///< keys after it
  double dropout = 0.0;
  DropoutSeed seed;
  std::optional<double> scale;  ///< default: 1 / sqrt(width)
};

struct Attended {
  at::Tensor output;     ///< [batch, heads, queries, width of value], of the query's type
  at::Tensor logsumexp;  ///< [batch, heads, queries], float32; infinite for a query that sees no key
};

struct AttentionGradients {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
  at::Tensor bias;  ///< undefined unless asked for
};

Attended attend(const Attention& attention);

/// `tensor` with the strides that at::empty_like gives for `operand`, as CUDA's kernels allocate: a program that turns
/// heads and positions again must copy, or not, as on a GPU.
at::Tensor in_layout_of(const at::Tensor& tensor, const at::Tensor& operand);

/// aten::_fill_mem_eff_dropout_mask_: one where the dropout of that seed spares, zero where it strikes. CUDA fills in the
/// numbers that it drew instead; what is asked of either is whether it is greater than `dropout`.
at::Tensor& fill_dropout_mask_(at::Tensor& self, double dropout, std::int64_t seed, std::int64_t offset);

/// @param attended what `attend` gave for the same attention
AttentionGradients attend_backward(const Attention& attention, const Attended& attended, const at::Tensor& grad,
                                   bool wants_bias);

}  // namespace devsan::emulate
