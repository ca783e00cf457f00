#include "guard/kernel_checks.h"

#include <algorithm>

#include <c10/util/Exception.h>

#include "guard/operands.h"

namespace devsan::guard {
namespace {

/// aten/src/ATen/native/cuda/ForeachBinaryOpScalarTensor.cu: the fast path wants the 0-dim tensor where the list is; for
/// other lists the slow path runs one operator an element, and each is checked by itself.
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

bool check_foreach_add(const Call& call) { return foreach_tensor(call, /*reads_host_scalar=*/false, "expected"); }
bool check_foreach_add_in_place(const Call& call) {
  return foreach_tensor(call, /*reads_host_scalar=*/false, "is expected");
}
bool check_foreach_scale(const Call& call) { return foreach_tensor(call, /*reads_host_scalar=*/true, "expected"); }
bool check_foreach_scale_in_place(const Call& call) {
  return foreach_tensor(call, /*reads_host_scalar=*/true, "is expected");
}

/// aten/src/ATen/native/cuda/FusedAdamKernel.cu (FusedAdamWKernel.cu, FusedSgdKernel.cu, FusedAdagradKernel.cu), the forms
/// whose learning rate is a tensor; one on the CPU is read there. The lists are compared by check_fast_path_restrictions,
/// or not at all.
bool check_fused_with_tensor_lr(const Call& call) {
  const c10::Device device = call.operands.front().tensor->device();
  Operands lists;
  const bool on_gpu = !tensor(call.operands, "lr").is_cpu();
  for (const char* name : {"grad_scale", "found_inf", "lr"}) {
    const OperandRef* operand = find(call.operands, name);
    TORCH_CHECK(!on_gpu || operand == nullptr || operand->tensor->device() == device, name,
                " must be on the same GPU device as the params");
  }
  for (const OperandRef& operand : call.operands) {
    // Beside a learning rate on the CPU the kernel compares neither of these two, and reads them through raw pointers.
    const bool unchecked = operand.argument == "grad_scale" || operand.argument == "found_inf";
    if (operand.place >= 0 || unchecked) lists.push_back(operand);
  }
  check_tensor_iterator(lists, /*host_scalars=*/0);
  return true;
}

}  // namespace

std::span<const KernelCheck> list_checks() {
  static constexpr KernelCheck kChecks[] = {
      {.op = "aten::_foreach_add.Tensor", .check = check_foreach_add},
      {.op = "aten::_foreach_add_.Tensor", .check = check_foreach_add_in_place},
      {.op = "aten::_foreach_mul.Tensor", .check = check_foreach_scale},
      {.op = "aten::_foreach_mul_.Tensor", .check = check_foreach_scale_in_place},
      {.op = "aten::_foreach_div.Tensor", .check = check_foreach_scale},
      {.op = "aten::_foreach_div_.Tensor", .check = check_foreach_scale_in_place},
      {.op = "aten::_fused_adam_.tensor_lr", .check = check_fused_with_tensor_lr},
      {.op = "aten::_fused_adamw_.tensor_lr", .check = check_fused_with_tensor_lr},
      {.op = "aten::_fused_sgd_.tensor_lr", .check = check_fused_with_tensor_lr},
      {.op = "aten::_fused_adagrad_.tensor_lr", .check = check_fused_with_tensor_lr},
      {.op = "aten::_fused_adam_", .check = check_without_host_scalars, .is_further = true},
      {.op = "aten::_fused_adamw_", .check = check_without_host_scalars, .is_further = true},
      {.op = "aten::_fused_sgd_", .check = check_without_host_scalars, .is_further = true},
      {.op = "aten::_fused_adagrad_", .check = check_without_host_scalars, .is_further = true},
  };
  return kChecks;
}

}  // namespace devsan::guard
