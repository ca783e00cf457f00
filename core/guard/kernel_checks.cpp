#include "guard/kernel_checks.h"

#include <algorithm>
#include <array>

namespace devsan::guard {
namespace {

using Check = bool (*)(const Call&);

/// Operators that may join devices: a copy is what they do, or they look at no element.
bool accept(const Call& /*call*/) { return true; }

struct Row {
  std::string_view op;
  Check check;
  int host_scalars = 0;  ///< 0-dim CPU operands that the check would accept: no need to ask it
};

/// In the place of any other check.
constexpr std::array kChecks{
    Row{"aten::index.Tensor", check_index},
    Row{"aten::index.Tensor_out", check_index},
    Row{"aten::_unsafe_index.Tensor", check_index},
    Row{"aten::_index_put_impl_", check_index_put, 1},
    Row{"aten::masked_fill_.Scalar", check_masked_fill},
    Row{"aten::masked_fill_.Tensor", check_masked_fill},
    Row{"aten::where.self", check_where, 2},
    Row{"aten::where.self_out", check_where},
    Row{"aten::index_fill_.int_Scalar", check_index_fill},
    Row{"aten::index_fill_.int_Tensor", check_index_fill},
    Row{"aten::convolution", check_convolution},
    Row{"aten::native_batch_norm", check_batch_norm},
    Row{"aten::lstm.input", check_recurrent},
    Row{"aten::lstm.data", check_recurrent},
    Row{"aten::gru.input", check_recurrent},
    Row{"aten::gru.data", check_recurrent},
    Row{"aten::rnn_tanh.input", check_recurrent},
    Row{"aten::rnn_tanh.data", check_recurrent},
    Row{"aten::rnn_relu.input", check_recurrent},
    Row{"aten::rnn_relu.data", check_recurrent},
    Row{"aten::lstm_cell", check_recurrent_cell},
    Row{"aten::gru_cell", check_recurrent_cell},
    Row{"aten::rnn_tanh_cell", check_recurrent_cell},
    Row{"aten::rnn_relu_cell", check_recurrent_cell},
    Row{"aten::scaled_dot_product_attention", check_attention},
    Row{"aten::_efficient_attention_backward", check_attention_backward},
    Row{"aten::_flash_attention_backward", check_attention_backward},
    Row{"aten::_scaled_dot_product_efficient_attention_backward", check_attention_backward},
    Row{"aten::_scaled_dot_product_flash_attention_backward", check_attention_backward},
    Row{"aten::binary_cross_entropy", check_binary_cross_entropy},
    Row{"aten::binary_cross_entropy.out", check_binary_cross_entropy},
    Row{"aten::binomial", check_binomial},
    Row{"aten::rsub.Tensor", check_rsub, 1},
    Row{"aten::abs.out", check_without_host_scalars},
    Row{"aten::angle.out", check_without_host_scalars},
    Row{"aten::hardswish.out", check_without_host_scalars},
    Row{"aten::hardtanh.out", check_without_host_scalars},
    Row{"aten::logical_not.out", check_without_host_scalars},
    Row{"aten::std.correction_out", check_std_var},
    Row{"aten::var.correction_out", check_std_var},
    Row{"aten::mode.values", check_mode},
    Row{"aten::addr_", check_addr},
    Row{"aten::log_sigmoid_forward.output", check_log_sigmoid},
    Row{"aten::min.unary_out", check_reduce_all},
    Row{"aten::max.unary_out", check_reduce_all},
    Row{"aten::_foreach_add.Tensor", check_foreach_add},
    Row{"aten::_foreach_add_.Tensor", check_foreach_add_in_place},
    Row{"aten::_foreach_mul.Tensor", check_foreach_scale},
    Row{"aten::_foreach_mul_.Tensor", check_foreach_scale_in_place},
    Row{"aten::_foreach_div.Tensor", check_foreach_scale},
    Row{"aten::_foreach_div_.Tensor", check_foreach_scale_in_place},
    Row{"aten::_fused_adam_.tensor_lr", check_fused_with_tensor_lr},
    Row{"aten::_fused_adamw_.tensor_lr", check_fused_with_tensor_lr},
    Row{"aten::_fused_sgd_.tensor_lr", check_fused_with_tensor_lr},
    Row{"aten::_fused_adagrad_.tensor_lr", check_fused_with_tensor_lr},
    Row{"aten::fill_.Tensor", accept, 1},
    Row{"aten::bernoulli_.Tensor", accept, 1},
    Row{"aten::bernoulli.out", accept},
    Row{"aten::is_set_to", accept},
    Row{"aten::is_same_size", accept},
    Row{"aten::_foreach_copy_", accept},
    Row{"aten::_validate_sparse_coo_tensor_args", accept},
    Row{"aten::_nested_view_from_buffer", accept},  // sizes, strides and offsets are CPU tensors
    Row{"aten::_nested_view_from_buffer_copy", accept},
    Row{"aten::_nested_from_padded", accept},
};

/// After the generated check, which leaves out keyword-only arguments. `check_without_host_scalars` stands where CUDA's kernel
/// compares nothing and reads through raw pointers: there a call dies of an illegal memory access, here it is refused.
constexpr std::array kFurtherChecks{
    Row{"aten::searchsorted.Tensor", check_sorter},
    Row{"aten::searchsorted.Tensor_out", check_sorter},
    Row{"aten::searchsorted.Scalar", check_sorter},
    Row{"aten::searchsorted.Scalar_out", check_sorter},
    Row{"aten::segment_reduce", check_without_host_scalars},
    Row{"aten::_segment_reduce_backward", check_without_host_scalars},
    Row{"aten::_fused_adam_", check_without_host_scalars},
    Row{"aten::_fused_adamw_", check_without_host_scalars},
    Row{"aten::_fused_sgd_", check_without_host_scalars},
    Row{"aten::_fused_adagrad_", check_without_host_scalars},
};

template <typename Rows>
Check check_in(const Rows& rows, std::string_view op) {
  const auto* found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.op == op; });
  return found == rows.end() ? nullptr : found->check;
}

}  // namespace

bool has_kernel_check(std::string_view op) { return check_in(kChecks, op) != nullptr; }

int free_host_scalars(std::string_view op) {
  const auto* found = std::find_if(kChecks.begin(), kChecks.end(), [&](const Row& row) { return row.op == op; });
  return found == kChecks.end() ? 0 : found->host_scalars;
}

bool check_kernel(std::string_view op, const Call& call) {
  const Check check = check_in(kChecks, op);
  return check != nullptr && check(call);
}

void check_further(std::string_view op, const Call& call) {
  if (const Check check = check_in(kFurtherChecks, op)) check(call);
}

}  // namespace devsan::guard
