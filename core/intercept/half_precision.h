#pragma once

#include <torch/library.h>

namespace devsan::intercept {

// Half precision, which some kernels of the CPU refuse (NOTE [Reduced precision that the CPU lacks]).
//
// Transforms are computed in float32; cuFFT's refusal of sizes that are no powers of two comes before
// (aten/src/ATen/native/cuda/CuFFTPlanCache.h).
//
// `softmax(half, dtype=torch.float32)`: CUDA's kernels convert while they compute, the CPU's refuse
// (aten/src/ATen/native/SoftMax.cpp, softmax; aten/src/ATen/native/cuda/SoftMax.cu). Here the input is converted first.

void register_half_precision(torch::Library& library);

}  // namespace devsan::intercept
