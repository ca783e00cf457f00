#include "intercept/operator_lists.h"

#include <unordered_set>

namespace devsan::intercept {
namespace {

using Names = std::unordered_set<std::string>;

bool is_in(const Names& names, const std::string& name) { return names.count(name) != 0; }

}  // namespace

bool is_hand_written(const std::string& name) {
  static const Names names{"aten::_copy_from",
                           "aten::_has_compatible_shallow_copy_type",
                           "aten::_reshape_alias",
                           "aten::as_strided",
                           "aten::copy_",
                           "aten::empty.memory_format",
                           "aten::empty_strided",
                           "aten::native_dropout",
                           "aten::record_stream",
                           "aten::scaled_dot_product_attention",
                           "aten::set_",
                           "aten::set_.source_Storage",
                           "aten::set_.source_Storage_storage_offset",
                           "aten::set_.source_Tensor",
                           "aten::view"};
  return is_in(names, name);
}

bool is_taken_whole(const std::string& name) {
  static const Names names{"aten::convolution", "aten::convolution_backward"};
  return is_in(names, name);
}

bool goes_through_host(const std::string& name) {
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

}  // namespace devsan::intercept
