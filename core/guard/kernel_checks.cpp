#include "guard/kernel_checks.h"

#include <algorithm>
#include <array>

#include <ATen/core/op_registration/adaption.h>
#include <c10/util/Exception.h>

#include "guard/checks.h"
#include "guard/indexing_checks.h"
#include "guard/network_checks.h"

namespace devsan::guard {
namespace {

using Check = bool (*)(const Call&);

/// aten/src/ATen/native/cuda/Loss.cu, binary_cross_entropy_out_cuda: the loss is made like the input, its iterator has no
/// exemption for CPU scalars, and the weight is multiplied afterwards.
bool binary_cross_entropy(const Call& call) {
  const Operands& operands = call.operands;
  OperandRef loss = *find(operands, find(operands, "out") != nullptr ? "out" : "self");
  loss.is_written = true;
  check_tensor_iterator({loss, *find(operands, "self"), *find(operands, "target")}, /*host_scalars=*/0);
  if (const OperandRef* weight = find(operands, "weight")) check_tensor_iterator({loss, *weight});
  return true;
}

/// aten/src/ATen/native/cuda/Distributions.cpp, _s_binomial_cuda: the result is made like count.
bool binomial(const Call& call) {
  OperandRef result = *find(call.operands, "count");
  result.is_written = true;
  check_tensor_iterator({result, *find(call.operands, "prob")}, /*host_scalars=*/0);
  return true;
}

/// aten/src/ATen/native/BinaryOps.cpp, rsub: sub(other, self).
bool rsub(const Call& call) {
  check_tensor_iterator({*find(call.operands, "other"), *find(call.operands, "self")});
  return true;
}

/// aten/src/ATen/native/ReduceOps.cpp, std_var_out: the dimensions are looked at before the devices.
bool std_var(const Call& call) {
  const std::int64_t dims = std::max<std::int64_t>(tensor(call.operands, "self").dim(), 1);
  const c10::IValue* chosen = value_of(call, "dim");
  if (chosen != nullptr && chosen->isIntList()) {
    for (const std::int64_t dim : chosen->toIntVector()) {
      if (dim < -dims || dim >= dims) return true;  // the kernel says so
    }
  }
  check_tensor_iterator(call.operands, /*host_scalars=*/0);
  return true;
}

/// aten/src/ATen/native/Sorting.cpp, mode_out.
bool mode(const Call& call) {
  const c10::Device device = tensor(call.operands, "self").device();
  for (const char* name : {"values", "indices"}) {
    const c10::Device other = tensor(call.operands, name).device();
    TORCH_CHECK(other == device, "expected device '", device, "' but got '", other, "' for ", name, " output");
  }
  return true;
}

/// aten/src/ATen/native/LinearAlgebra.cpp, addr_: addr_out(self, ...).
bool addr(const Call& call) {
  check_generated_for(call.operands, "wrapper_CUDA_out_addr_out",
                      {{"self", "out"}, {"self", "self"}, {"vec1", "vec1"}, {"vec2", "vec2"}});
  return true;
}

/// aten/src/ATen/native/UnaryOps.cpp: iterators without the exemption for CPU scalars.
bool without_host_scalars(const Call& call) {
  check_tensor_iterator(call.operands, /*host_scalars=*/0);
  return true;
}

/// aten/src/ATen/native/cuda/ActivationLogSigmoidKernel.cu, log_sigmoid_forward_out_cuda: the buffer is the CPU's only.
bool log_sigmoid(const Call& call) {
  check_tensor_iterator({*find(call.operands, "output"), *find(call.operands, "self")}, /*host_scalars=*/0);
  return true;
}

/// aten/src/ATen/native/ReduceAllOps.cpp: a check without words of its own.
bool reduce_all(const Call& call) {
  const at::Tensor& self = tensor(call.operands, "self");
  const at::Tensor& out = tensor(call.operands, "out");
  TORCH_CHECK(self.device() == out.device(), "Expected self.device() == out.device() to be true, but got false.  ",
              "(Could this error message be improved?  If so, please report an enhancement request to PyTorch.)");
  return true;
}

/// aten/src/ATen/native/cuda/ForeachBinaryOpScalarTensor.cu: the fast path wants the 0-dim tensor where the list is; for
/// other lists the slow path runs one operator an element, and each is judged by itself.
bool foreach_tensor(const Call& call, bool reads_host_scalar, const char* expected) {
  const Operands& operands = call.operands;
  const at::Tensor& first = *operands.front().tensor;
  const at::Tensor& scalar = *operands.back().tensor;
  if (reads_host_scalar && scalar.is_cpu()) return true;
  const bool fast = std::all_of(operands.begin(), operands.end() - 1, [&](const OperandRef& operand) {
    return operand.tensor->device() == first.device() && operand.tensor->scalar_type() == scalar.scalar_type();
  });
  TORCH_CHECK(!fast || scalar.device() == first.device(), "scalar tensor ", expected, " to be on ", first.device(),
              " but is on ", scalar.device());
  return true;
}

bool foreach_add(const Call& call) { return foreach_tensor(call, /*reads_host_scalar=*/false, "expected"); }
bool foreach_add_(const Call& call) { return foreach_tensor(call, /*reads_host_scalar=*/false, "is expected"); }
bool foreach_scale(const Call& call) { return foreach_tensor(call, /*reads_host_scalar=*/true, "expected"); }
bool foreach_scale_(const Call& call) { return foreach_tensor(call, /*reads_host_scalar=*/true, "is expected"); }

/// aten/src/ATen/native/cuda/FusedAdamKernel.cu (FusedAdamWKernel.cu, FusedSgdKernel.cu, FusedAdagradKernel.cu), the forms
/// whose learning rate is a tensor; one on the CPU is read there. The lists are compared by check_fast_path_restrictions,
/// or not at all.
bool fused_with_tensor_lr(const Call& call) {
  const c10::Device device = call.operands.front().tensor->device();
  Operands lists;
  const bool on_gpu = !tensor(call.operands, "lr").is_cpu();
  for (const char* name : {"grad_scale", "found_inf", "lr"}) {
    const OperandRef* operand = find(call.operands, name);
    TORCH_CHECK(!on_gpu || operand == nullptr || operand->tensor->device() == device, name,
                " must be on the same GPU device as the params");
  }
  for (const OperandRef& operand : call.operands) {
    if (operand.place >= 0) lists.push_back(operand);
  }
  check_tensor_iterator(lists, /*host_scalars=*/0);
  return true;
}

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
    Row{"aten::binary_cross_entropy", binary_cross_entropy},
    Row{"aten::binary_cross_entropy.out", binary_cross_entropy},
    Row{"aten::binomial", binomial},
    Row{"aten::rsub.Tensor", rsub, 1},
    Row{"aten::abs.out", without_host_scalars},
    Row{"aten::angle.out", without_host_scalars},
    Row{"aten::hardswish.out", without_host_scalars},
    Row{"aten::hardtanh.out", without_host_scalars},
    Row{"aten::logical_not.out", without_host_scalars},
    Row{"aten::std.correction_out", std_var},
    Row{"aten::var.correction_out", std_var},
    Row{"aten::mode.values", mode},
    Row{"aten::addr_", addr},
    Row{"aten::log_sigmoid_forward.output", log_sigmoid},
    Row{"aten::min.unary_out", reduce_all},
    Row{"aten::max.unary_out", reduce_all},
    Row{"aten::_foreach_add.Tensor", foreach_add},
    Row{"aten::_foreach_add_.Tensor", foreach_add_},
    Row{"aten::_foreach_mul.Tensor", foreach_scale},
    Row{"aten::_foreach_mul_.Tensor", foreach_scale_},
    Row{"aten::_foreach_div.Tensor", foreach_scale},
    Row{"aten::_foreach_div_.Tensor", foreach_scale_},
    Row{"aten::_fused_adam_.tensor_lr", fused_with_tensor_lr},
    Row{"aten::_fused_adamw_.tensor_lr", fused_with_tensor_lr},
    Row{"aten::_fused_sgd_.tensor_lr", fused_with_tensor_lr},
    Row{"aten::_fused_adagrad_.tensor_lr", fused_with_tensor_lr},
    Row{"aten::fill_.Tensor", accept, 1},
    Row{"aten::bernoulli_.Tensor", accept, 1},
    Row{"aten::bernoulli.out", accept},
    Row{"aten::is_set_to", accept},
    Row{"aten::is_same_size", accept},
    Row{"aten::_foreach_copy_", accept},
    Row{"aten::_nested_view_from_buffer", accept},  // sizes, strides and offsets are CPU tensors
    Row{"aten::_nested_view_from_buffer_copy", accept},
    Row{"aten::_nested_from_padded", accept},
};

/// After the generated check, which leaves out keyword-only arguments. `without_host_scalars` stands where CUDA's kernel
/// compares nothing and reads through raw pointers: there a call dies of an illegal memory access, here it is refused.
constexpr std::array kFurtherChecks{
    Row{"aten::searchsorted.Tensor", check_sorter},    Row{"aten::searchsorted.Tensor_out", check_sorter},
    Row{"aten::searchsorted.Scalar", check_sorter},    Row{"aten::searchsorted.Scalar_out", check_sorter},
    Row{"aten::segment_reduce", without_host_scalars}, Row{"aten::_segment_reduce_backward", without_host_scalars},
    Row{"aten::_fused_adam_", without_host_scalars},   Row{"aten::_fused_adamw_", without_host_scalars},
    Row{"aten::_fused_sgd_", without_host_scalars},    Row{"aten::_fused_adagrad_", without_host_scalars},
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
