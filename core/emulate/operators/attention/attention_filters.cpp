#include "emulate/operators/attention/attention_filters.h"

#include <array>
#include <utility>

#include <ATen/Context.h>

#include "emulate/runtime/device.h"

namespace devsan::emulate {
namespace {

const model::DeviceSpec& gpu() { return device(current_device()).spec; }

bool is_between(std::pair<int, int> first, std::pair<int, int> last) {
  const std::pair<int, int> capability(gpu().major, gpu().minor);
  return first <= capability && capability <= last;
}

bool is_half(const sdp::sdp_params& params) {
  return params.query.dtype() == at::kHalf || params.query.dtype() == at::kBFloat16;
}

/// minimum_gemm_alignment: what the tensor cores load at once.
std::int64_t alignment(const sdp::sdp_params& params) {
  const bool has_tensor_cores = gpu().major >= 8 || (gpu().major >= 7 && is_half(params));
  const std::int64_t least = gpu().major >= 8 ? 4 : 1;
  return has_tensor_cores ? std::max<std::int64_t>(least, is_half(params) ? 8 : 4) : least;
}

}  // namespace

bool is_on_gpu(const sdp::sdp_params& params, bool explain) {
  const bool passes = params.query.device().is_cuda();
  if (!passes && explain) {
    TORCH_WARN("All tensors need to be on cuda device. Got query on device: ", params.query.device(),
               ", key on device: ", params.key.device(), ", value on device: ", params.value.device());
  }
  return passes;
}

bool fits_flash_width(const sdp::sdp_params& params, bool explain) {
  const auto query = params.query.sym_size(-1);
  const bool same = query == params.key.sym_size(-1) && query == params.value.sym_size(-1);
  const bool passes = same && query <= 256;
  if (!passes && explain) {
    TORCH_WARN("Flash attention requires q,k,v to have the same last dimension and to be less than or equal to 256.",
               " Got Query.size(-1): ", query, ", Key.size(-1): ", params.key.sym_size(-1),
               ", Value.size(-1): ", params.value.sym_size(-1), " instead.");
  }
  return passes;
}

bool has_flash_gpu(const sdp::sdp_params& /*params*/, bool explain) {
  const bool passes = is_between({8, 0}, {12, 1});
  if (!passes && explain) {
    TORCH_WARN("Flash attention only supports gpu architectures in the range [sm80, sm121]. Attempting to run on a sm ",
               gpu().major, ".", gpu().minor, " gpu.");
  }
  return passes;
}

bool trains_flash_width(const sdp::sdp_params& params, bool explain) {
  const bool is_small_gpu = is_between({8, 6}, {8, 9}) || is_between({12, 0}, {12, 1});
  if (!sdp::input_requires_grad(params) || !is_small_gpu) return true;
  const auto width = params.query.sym_size(-1);
  const bool passes = width <= 192 || (params.dropout == 0.0 && width > 224);
  if (!passes && explain) {
    TORCH_WARN("Flash attention currently doesn't support training with head_dim ∈ (192, 224] or ",
               "(head_dim ∈ (224, 256] and dropout > 0.0) on gpu architectures in the range[sm86, sm89].",
               "Attempting to run with dropout set to: ", params.dropout, "and head_dim: ", width, " on a sm ",
               gpu().major, ".", gpu().minor, " gpu.");
  }
  return passes;
}

bool is_square_if_causal(const sdp::sdp_params& params, bool explain) {
  if (!params.is_causal || params.query.is_nested() || params.key.is_nested()) return true;
  const bool passes = params.query.sym_size(-2) == params.key.sym_size(-2);
  if (!passes && explain) {
    TORCH_WARN("Flash attention does not support the is_causal flag when seqlen_q != seqlen_k. ",
               "Got seqlen_q: ", params.query.sym_size(-2), " seqlen_k: ", params.key.sym_size(-2),
               ". If you would like to use causal attention with non-square masks, please see CausalAttnMask.");
  }
  return passes;
}

bool is_low_precision(const sdp::sdp_params& params, bool explain) {
  if (gpu().major >= 8) return sdp::check_tensor_dtype(params, std::array{at::kHalf, at::kBFloat16}, explain);
  return sdp::check_tensor_dtype(params, std::array{at::kHalf}, explain);
}

bool has_efficient_gpu(const sdp::sdp_params& /*params*/, bool explain) {
  const bool passes = is_between({5, 0}, {12, 1});
  if (!passes && explain) {
    TORCH_WARN("Mem Efficient Attention only supports gpu architectures in the range [sm50, sm121]. Attempting to run ",
               "on a sm ", gpu().major, ".", gpu().minor, " gpu.");
  }
  return passes;
}

bool fits_efficient_width(const sdp::sdp_params& params, bool explain) {
  const auto query = params.query.sym_size(-1);
  const auto value = params.value.sym_size(-1);
  const std::int64_t step = alignment(params);
  const bool passes =
      query == params.key.sym_size(-1) && query % step == 0 && query > 0 && value % step == 0 && value > 0;
  if (!passes && explain) {
    TORCH_WARN("Mem efficient attention requires last dimension of inputs to be divisible by ", step, ". ",
               "Got Query.size(-1): ", query, ", Key.size(-1): ", params.key.sym_size(-1), ", Value.size(-1): ", value,
               " instead.");
  }
  return passes;
}

bool is_efficient_type(const sdp::sdp_params& params, bool explain) {
  if (gpu().major >= 8) {
    return sdp::check_tensor_dtype(params, std::array{at::kHalf, at::kFloat, at::kBFloat16}, explain);
  }
  return sdp::check_tensor_dtype(params, std::array{at::kHalf, at::kFloat}, explain);
}

bool is_cudnn_allowed(const sdp::sdp_params& /*params*/, bool explain) {
  const bool passes = at::globalContext().userEnabledCuDNNSDP();
  if (!passes && explain) TORCH_WARN("cuDNN attention has been runtime disabled.");
  return passes;
}

bool has_cudnn_gpu(const sdp::sdp_params& /*params*/, bool explain) {
  const bool passes = is_between({8, 0}, {12, 1});
  if (!passes && explain) {
    TORCH_WARN("cuDNN MHA only supports gpu architectures in the range [sm80, sm121]. Attempting to run on a sm ",
               gpu().major, ".", gpu().minor, " gpu.");
  }
  return passes;
}

bool is_not_nested(const sdp::sdp_params& params, bool explain) {
  const bool passes = !params.query.is_nested();
  if (!passes && explain) TORCH_WARN("Experimental cuDNN SDPA nested tensor support is not enabled.");
  return passes;
}

bool fits_cudnn_width(const sdp::sdp_params& params, bool explain) {
  const auto query = params.query.sym_size(3);
  const auto value = params.value.sym_size(3);
  const bool is_short = query <= 128 && value <= 128;
  if (!is_short && explain) TORCH_WARN("head_dim should be no more than ", 128);
  const bool is_aligned = query % 8 == 0 && value % 8 == 0;
  if (is_short && !is_aligned && explain) TORCH_WARN("head_dim should be a multiple of 8");
  return is_short && is_aligned;
}

}  // namespace devsan::emulate
