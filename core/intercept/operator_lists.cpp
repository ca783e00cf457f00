#include "intercept/operator_lists.h"

#include <unordered_set>

#include "guard/device_check.h"

namespace devsan::intercept {
namespace {

using Names = std::unordered_set<std::string>;

bool is_in(const Names& names, const std::string& name) { return names.count(name) != 0; }

}  // namespace

bool is_made_by_hand(const std::string& name) {
  static const Names names{"aten::empty.memory_format", "aten::empty_strided"};
  return is_in(names, name);
}

bool is_taken_whole(const std::string& name) {
  static const Names names{"aten::_validate_sparse_coo_tensor_args",
                           "aten::addr_",
                           "aten::conj_physical_",
                           "aten::convolution",
                           "aten::convolution_backward",
                           "aten::mode.values"};
  return is_in(names, name);
}

bool is_recurrent(const std::string& name) {
  static const Names names{"aten::gru.data",      "aten::gru.input",     "aten::gru_cell",       "aten::lstm.data",
                           "aten::lstm.input",    "aten::lstm_cell",     "aten::rnn_relu.data",  "aten::rnn_relu.input",
                           "aten::rnn_relu_cell", "aten::rnn_tanh.data", "aten::rnn_tanh.input", "aten::rnn_tanh_cell"};
  return is_in(names, name);
}

bool is_cpu_only(const std::string& name) {
  static const Names names{"aten::_histogramdd_bin_edges",
                           "aten::_histogramdd_from_bin_cts",
                           "aten::_histogramdd_from_bin_tensors",
                           "aten::_sparse_mm_reduce_impl",
                           "aten::_sparse_mm_reduce_impl_backward",
                           "aten::_spdiags",
                           "aten::histogram.bin_ct",
                           "aten::histogram.bin_ct_out",
                           "aten::histogram.bins_tensor",
                           "aten::histogram.bins_tensor_out"};
  return is_in(names, name);
}

bool is_missing_on_cuda(const c10::OperatorHandle& op, const std::string& name) {
  // The host's kernel of fused attention carries out CUDA's; quantized tensors are made by kernels of other keys.
  static const Names kept{"aten::_empty_affine_quantized", "aten::_empty_per_channel_affine_quantized",
                          "aten::_scaled_dot_product_flash_attention_for_cpu",
                          "aten::_scaled_dot_product_flash_attention_for_cpu_backward"};
  if (name.rfind("aten::", 0) != 0 || guard::check_of(name).rule != guard::Rule::kUnknown || is_in(kept, name)) {
    return false;
  }
  return !op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) &&
         !op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional) &&
         !op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

bool is_of_host_library(std::string_view name) {
  const std::string_view library = name.substr(0, name.find("::"));
  if (library == "mkldnn" || library == "onednn" || library == "prepacked") return true;
  // aten/src/ATen/native/quantized/cuda: the lookups in packed tables, and their unpacking.
  return library == "quantized" && !(name.starts_with("quantized::embedding_bag_") &&
                                     (name.ends_with("_rowwise_offsets") || name.ends_with("_unpack")));
}

bool is_written_for_quantized(const std::string& name) {
  static const Names names{"aten::q_per_channel_scales", "aten::q_per_channel_zero_points"};
  return is_in(names, name);
}

bool is_quantized_on_cuda(const std::string& name) {
  static const Names names{"aten::_adaptive_avg_pool2d",
                           "aten::_empty_affine_quantized",
                           "aten::_empty_per_channel_affine_quantized",
                           "aten::_index_put_impl_",
                           "aten::_reshape_alias",
                           "aten::as_strided",
                           "aten::clone",
                           "aten::dequantize.self",
                           "aten::empty.memory_format",
                           "aten::empty_like",
                           "aten::empty_quantized",
                           "aten::empty_strided",
                           "aten::fill_.Scalar",
                           "aten::fill_.Tensor",
                           "aten::flip",
                           "aten::gelu",
                           "aten::index_select",
                           "aten::index_select.out",
                           "aten::int_repr",
                           "aten::masked_fill_.Scalar",
                           "aten::masked_fill_.Tensor",
                           "aten::max.dim",
                           "aten::min.dim",
                           "aten::q_per_channel_axis",
                           "aten::q_per_channel_scales",
                           "aten::q_per_channel_zero_points",
                           "aten::q_scale",
                           "aten::q_zero_point",
                           "aten::qscheme",
                           "aten::quantized_max_pool2d",
                           "aten::relu",
                           "aten::relu_",
                           "aten::set_.source_Storage_storage_offset",
                           "aten::squeeze",
                           "aten::squeeze.dim",
                           "aten::squeeze.dims",
                           "aten::unfold",
                           "aten::unsqueeze",
                           "aten::view"};
  return is_in(names, name);
}

}  // namespace devsan::intercept
