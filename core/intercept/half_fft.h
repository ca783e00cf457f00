#pragma once

#include <torch/library.h>

namespace devsan::intercept {

/// The transforms of half precision, which the CPU computes in float32 (NOTE [Reduced precision that the CPU lacks]);
/// cuFFT's refusal of sizes that are no powers of two comes before it (aten/src/ATen/native/cuda/CuFFTPlanCache.h).
void register_half_fft(torch::Library& library);

}  // namespace devsan::intercept
