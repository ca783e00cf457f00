#pragma once

#include <torch/library.h>

namespace devsan::intercept {

/// Registers the kernels that are written by hand: in `library`, on the key of emulated tensors, and in `autograd`, on
/// its autograd key.
void register_hand_written(torch::Library& library, torch::Library& autograd);

}  // namespace devsan::intercept
