#pragma once

#include <ATen/native/transformers/sdp_utils_cpp.h>

namespace devsan::emulate {

// What a fused attention kernel of CUDA's asks of a call and of the current GPU, where the function is in
// aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, which a CPU build lacks. `explain` warns, in torch's words, where
// the answer is no.

bool is_on_gpu(const sdp::sdp_params& params, bool explain);
bool fits_flash_width(const sdp::sdp_params& params, bool explain);
bool has_flash_gpu(const sdp::sdp_params& params, bool explain);
bool trains_flash_width(const sdp::sdp_params& params, bool explain);
bool is_square_if_causal(const sdp::sdp_params& params, bool explain);
bool is_low_precision(const sdp::sdp_params& params, bool explain);
bool has_efficient_gpu(const sdp::sdp_params& params, bool explain);
bool fits_efficient_width(const sdp::sdp_params& params, bool explain);
bool is_efficient_type(const sdp::sdp_params& params, bool explain);
bool is_cudnn_allowed(const sdp::sdp_params& params, bool explain);
bool has_cudnn_gpu(const sdp::sdp_params& params, bool explain);
bool is_not_nested(const sdp::sdp_params& params, bool explain);
bool fits_cudnn_width(const sdp::sdp_params& params, bool explain);

}  // namespace devsan::emulate
