#pragma once

#include <torch/library.h>

namespace devsan::intercept {

/// `softmax(half, dtype=torch.float32)`: CUDA's kernels convert while they compute, the CPU's refuse
/// (aten/src/ATen/native/SoftMax.cpp, softmax; aten/src/ATen/native/cuda/SoftMax.cu). Here the input is converted first.
void register_half_softmax(torch::Library& library);

}  // namespace devsan::intercept
