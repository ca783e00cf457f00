#pragma once

#include "emulate/operators/attention/attention.h"

namespace devsan::emulate {

// Attention by torch's composite of products and softmax, on the host: what a CPU tensor's attention computes where the
// CPU's flash kernel does not take it, to the last bit, dropout and the gradient of a mask included. A GPU's kernel keeps no
// scores for its backward, and so the backward computes them again.

/// Whether the composite computes it: no window, and a causal mask that begins at the top left and stands alone.
bool suits_composite(const Attention& attention);

/// @param attention key and value for every head of the query
at::Tensor attend_by_composite(const Attention& attention);

AttentionGradients composite_backward(const Attention& attention, const at::Tensor& grad, bool wants_bias);

}  // namespace devsan::emulate
