#include "intercept/hand_written.h"

#include <unordered_map>

#include "emulate/operators/attention/attention.h"
#include "emulate/operators/attention/efficient_attention.h"
#include "emulate/operators/attention/flash_attention.h"
#include "emulate/operators/linear_algebra/products.h"
#include "emulate/operators/linear_algebra/semi_structured.h"
#include "emulate/operators/networks/convolutions.h"
#include "emulate/operators/networks/fused_cells.h"
#include "emulate/operators/networks/layers.h"
#include "emulate/operators/networks/normalizations.h"
#include "emulate/operators/philox.h"
#include "emulate/runtime/layouts.h"
#include "intercept/device_check.h"

namespace devsan::intercept {
namespace {

/// Registers `kernel` for "name" or "name.overload", as one kernel with the operator's check of devices, where this torch
/// has it.
template <typename Kernel>
void put(torch::Library& library, const std::string& full_name, Kernel kernel) {
  const std::size_t dot = full_name.find('.');
  const std::string name = "aten::" + full_name.substr(0, dot);
  const std::string overload = dot == std::string::npos ? "" : full_name.substr(dot + 1);
  if (!has_operator(name.c_str(), overload.c_str())) return;
  library.impl(full_name.c_str(), one_kernel(name.c_str(), overload.c_str(), kernel));
}

bool takes(const char* operator_name, const char* argument) {
  const auto op = c10::Dispatcher::singleton().findSchema({operator_name, ""});
  return op.has_value() && op->schema().argumentIndexWithName(argument).has_value();
}

void put_products(torch::Library& library) {
  put(library, "mm.dtype", &emulate::mm_to);
  put(library, "mm.dtype_out", &emulate::mm_to_out);
  put(library, "bmm.dtype", &emulate::bmm_to);
  put(library, "bmm.dtype_out", &emulate::bmm_to_out);
  put(library, "addmm.dtype", &emulate::addmm_to);
  put(library, "addmm.dtype_out", &emulate::addmm_to_out);
  put(library, "baddbmm.dtype", &emulate::baddbmm_to);
  put(library, "baddbmm.dtype_out", &emulate::baddbmm_to_out);
}

void put_convolutions(torch::Library& library) {
  put(library, "cudnn_convolution", &emulate::cudnn_convolution);
  put(library, "cudnn_convolution.out", &emulate::cudnn_convolution_out);
  put(library, "cudnn_convolution_transpose", &emulate::cudnn_convolution_transpose);
  put(library, "cudnn_convolution_relu", &emulate::cudnn_convolution_relu);
  put(library, "cudnn_convolution_add_relu", &emulate::cudnn_convolution_add_relu);
  put(library, "_conv_depthwise2d", &emulate::conv_depthwise2d);
  put(library, "_conv_depthwise2d.out", &emulate::conv_depthwise2d_out);
  put(library, "conv_depthwise3d", &emulate::conv_depthwise3d);
}

void put_normalizations(torch::Library& library) {
  put(library, "batch_norm_stats", &emulate::batch_norm_stats);
  put(library, "batch_norm_elemt", &emulate::batch_norm_elemt);
  put(library, "batch_norm_elemt.out", &emulate::batch_norm_elemt_out);
  put(library, "batch_norm_gather_stats", &emulate::batch_norm_gather_stats);
  put(library, "batch_norm_gather_stats_with_counts", &emulate::batch_norm_gather_stats_with_counts);
  put(library, "batch_norm_backward_reduce", &emulate::batch_norm_backward_reduce);
  put(library, "batch_norm_backward_elemt", &emulate::batch_norm_backward_elemt);
  put(library, "cudnn_batch_norm", &emulate::cudnn_batch_norm);
  put(library, "cudnn_batch_norm_backward", &emulate::cudnn_batch_norm_backward);
  put(library, "_fused_rms_norm", &emulate::fused_rms_norm);
  put(library, "_fused_rms_norm_backward", &emulate::fused_rms_norm_backward);
  put(library, "cudnn_grid_sampler", &emulate::cudnn_grid_sampler);
  put(library, "cudnn_grid_sampler_backward", &emulate::cudnn_grid_sampler_backward);
  put(library, "cudnn_affine_grid_generator", &emulate::cudnn_affine_grid_generator);
  put(library, "cudnn_affine_grid_generator_backward", &emulate::cudnn_affine_grid_generator_backward);
}

void put_cells_and_dropout(torch::Library& library) {
  put(library, "_thnn_fused_lstm_cell", &emulate::fused_lstm_cell);
  put(library, "_thnn_fused_lstm_cell_backward_impl", &emulate::fused_lstm_cell_backward);
  put(library, "_thnn_fused_gru_cell", &emulate::fused_gru_cell);
  put(library, "_thnn_fused_gru_cell_backward", &emulate::fused_gru_cell_backward);
  put(library, "native_dropout", &emulate::native_dropout);
  put(library, "_fused_dropout", &emulate::fused_dropout);
  put(library, "_masked_scale", &emulate::masked_scale);
}

void put_attention(torch::Library& library) {
  if (takes("aten::_flash_attention_forward", "block_table")) {
    put(library, "_flash_attention_forward", &emulate::flash_attention_forward_paged);
  } else {
    put(library, "_flash_attention_forward", &emulate::flash_attention_forward);
  }
  put(library, "_flash_attention_backward", &emulate::flash_attention_backward);
  put(library, "_scaled_dot_product_flash_attention", &emulate::scaled_dot_product_flash_attention);
  put(library, "_scaled_dot_product_flash_attention_backward", &emulate::scaled_dot_product_flash_attention_backward);
  put(library, "_efficient_attention_forward", &emulate::efficient_attention_forward);
  put(library, "_efficient_attention_backward", &emulate::efficient_attention_backward);
  put(library, "_scaled_dot_product_efficient_attention", &emulate::scaled_dot_product_efficient_attention);
  put(library, "_scaled_dot_product_efficient_attention_backward",
      &emulate::scaled_dot_product_efficient_attention_backward);
  put(library, "_fill_mem_eff_dropout_mask_", &emulate::fill_dropout_mask_);
  put(library, "_scaled_dot_product_cudnn_attention", &emulate::scaled_dot_product_cudnn_attention);
  put(library, "_scaled_dot_product_cudnn_attention_backward", &emulate::scaled_dot_product_cudnn_attention_backward);
}

void put_low_precision(torch::Library& library) {
  put(library, "_convert_weight_to_int4pack", &emulate::pack_int4);
  put(library, "_weight_int4pack_mm", &emulate::int4_mm);
  put(library, "_to_sparse_semi_structured", &emulate::to_semi_structured);
  put(library, "_sparse_semi_structured_mm", &emulate::semi_structured_mm);
  put(library, "_sparse_semi_structured_addmm", &emulate::semi_structured_addmm);
  put(library, "_sparse_semi_structured_linear", &emulate::semi_structured_linear);
  put(library, "_cslt_compress", &emulate::cslt_compress);
  put(library, "_cslt_sparse_mm", &emulate::cslt_mm);
  put(library, "_cslt_sparse_mm_search", &emulate::cslt_search);
}

void put_philox(torch::Library& library) {
  put(library, "_philox_key_split", &emulate::philox_key_split);
  put(library, "_philox_key_fold_in", &emulate::philox_key_fold_in);
  put(library, "_philox_normal_", &emulate::philox_normal_);
  put(library, "_philox_uniform_", &emulate::philox_uniform_);
}

/// What torch says of a library that it was not built with: the "not compiled" branches of aten/src/ATen/native/cudnn and
/// miopen, and of the operators that a Triton kernel must replace (transformers/cuda/attention.cu).
const std::unordered_map<std::string, const char*>& unavailable() {
  static const std::unordered_map<std::string, const char*> words{
      {"_cudnn_ctc_loss", "cudnn_ctc_loss: ATen not compiled with cuDNN >= 7 support"},
      {"_cudnn_ctc_loss.Tensor", "cudnn_ctc_loss: ATen not compiled with cuDNN >= 8 support"},
      {"_cudnn_init_dropout_state", "_cudnn_init_dropout_state: ATen not compiled with cuDNN support"},
      {"_cudnn_rnn", "_cudnn_rnn: ATen not compiled with cuDNN support"},
      {"_cudnn_rnn_backward", "_cudnn_rnn_backward: ATen not compiled with cuDNN support"},
      {"_cudnn_rnn_flatten_weight", "_cudnn_rnn_flatten_weight: ATen not compiled with cuDNN support"},
      {"_triton_multi_head_attention", "This operator should be overridden in python before use"},
      {"_triton_scaled_dot_attention", "This operator should be overridden in python before use"},
      {"miopen_batch_norm", "miopen_batch_norm: ATen not compiled with MIOpen support"},
      {"miopen_batch_norm_backward", "miopen_batch_norm_backward: ATen not compiled with MIOpen support"},
      {"miopen_convolution", "miopen_convolution: ATen not compiled with MIOpen support"},
      {"miopen_convolution_add_relu", "miopen_convolution_add_relu: ATen not compiled with MIOpen support"},
      {"miopen_convolution_relu", "miopen_convolution_relu: ATen not compiled with MIOpen support"},
      {"miopen_convolution_transpose", "miopen_convolution_transpose: ATen not compiled with MIOpen support"},
      {"miopen_ctc_loss", "miopen_ctc_loss: ATen not compiled with MIOpen support"},
      {"miopen_ctc_loss.Tensor", "miopen_ctc_loss: ATen not compiled with MIOpen support"},
      {"miopen_depthwise_convolution", "miopen_depthwise_convolution: ATen not compiled with MIOpen support"},
      {"miopen_rnn", "miopen_rnn : ATen not compiled with MIOpen support."},
      {"miopen_rnn_backward", "miopen_rnn_backward: ATen not compiled with MIOpen support."}};
  return words;
}

void refuse_unavailable(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* /*stack*/) {
  const std::string name = c10::toString(op.operator_name());
  TORCH_CHECK(false, unavailable().at(name.substr(name.find("::") + 2)));
}

}  // namespace

void register_cuda_only(torch::Library& library) {
  put_products(library);
  put_convolutions(library);
  put_normalizations(library);
  put_cells_and_dropout(library);
  put_attention(library);
  put_low_precision(library);
  put_philox(library);
  for (const auto& [name, words] : unavailable()) {
    const std::size_t dot = name.find('.');
    if (!has_operator(("aten::" + name.substr(0, dot)).c_str(),
                      dot == std::string::npos ? "" : name.substr(dot + 1).c_str())) {
      continue;
    }
    library.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&refuse_unavailable>());
  }
}

void register_cuda_only_layout(torch::Library& library, c10::DispatchKey host) {
  if (host == c10::DispatchKey::SparseCsrCPU) {
    library.impl("bmm.out", TORCH_FN(emulate::bmm_compressed_out));
    library.impl("baddbmm.out", TORCH_FN(emulate::baddbmm_compressed_out));
    library.impl("_spsolve", TORCH_FN(emulate::solve_compressed));
  } else if (host == c10::DispatchKey::QuantizedCPU) {
    library.impl("q_per_channel_scales", TORCH_FN(emulate::per_channel_scales));
    library.impl("q_per_channel_zero_points", TORCH_FN(emulate::per_channel_zero_points));
  }
}

}  // namespace devsan::intercept
