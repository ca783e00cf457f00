#include <c10/util/Exception.h>

#include "guard/kernel_checks.h"
#include "guard/operands.h"

namespace devsan::guard {
namespace {

// 0-dim CPU operands that TensorIterator lets through, and that the kernel behind it refuses. Each of these sentences was
// read on an H100, with torch 2.11 (docs/reference/gpu-parity.md).

bool has_gpu(const Operands& operands) {
  for (const OperandRef& operand : operands) {
    if (!operand.tensor->is_cpu()) return true;
  }
  return false;
}

/// aten/src/ATen/native/cuda/Loops.cuh, gpu_kernel: an internal assertion of torch's, whose line is that of torch 2.11.
/// @param number the operand's in the iterator, in which the result is the first
void assert_on_gpu(const OperandRef* operand, int number) {
  if (operand == nullptr || !operand->tensor->is_cpu()) return;
  TORCH_CHECK(
      false,
      "iter.device(arg).is_cuda() INTERNAL ASSERT FAILED at \"/pytorch/aten/src/ATen/native/cuda/Loops.cuh\":109, "
      "please report a bug to PyTorch. argument ",
      number, ": expected a CUDA device but found ", operand->tensor->device());
}

/// aten/src/ATen/native/cuda/Lerp.cu, where a weight on the CPU is read, and BinaryMiscOpsKernels.cu.
void check_two(const OperandRef* self, const OperandRef* other) {
  assert_on_gpu(self, 1);
  assert_on_gpu(other, 2);
}

/// aten/src/ATen/native/cuda/PointwiseOpsKernel.cu, addcmul_cuda_kernel.
void check_addcmul(const OperandRef* self, const OperandRef* tensor1) {
  constexpr const char* kBegin = "CPU Scalar support for ";
  constexpr const char* kEnd = " argument is not supported when calling addcmul on CUDA tensors.";
  TORCH_CHECK(!self->tensor->is_cpu(), kBegin, "self", kEnd);
  TORCH_CHECK(!tensor1->tensor->is_cpu(), kBegin, "tensor1", kEnd,
              " However, CPU Scalar support for tensor2 is supported, please swap your tensor1 and tensor2 terms.");
}

bool check_lerp_call(const Call& call) {
  if (has_gpu(call.operands)) check_two(find(call.operands, "self"), find(call.operands, "end"));
  return true;
}

bool check_addcmul_call(const Call& call) {
  if (has_gpu(call.operands)) check_addcmul(find(call.operands, "self"), find(call.operands, "tensor1"));
  return true;
}

bool check_smooth_l1(const Call& call) {
  if (has_gpu(call.operands)) check_two(find(call.operands, "self"), find(call.operands, "target"));
  return true;
}

/// The slow path of a list, which runs the operator on each of its elements.
/// @param check of one element
/// @param second the argument beside self
bool each_element(const Call& call, const char* second, void (*check)(const OperandRef*, const OperandRef*)) {
  for (const OperandRef& self : call.operands) {
    if (self.argument != "self") continue;
    Operands element;
    for (const OperandRef& operand : call.operands) {
      if (operand.place == self.place) element.push_back(operand);
    }
    const OperandRef* other = find(element, second);
    if (other != nullptr && has_gpu(element)) check(find(element, "self"), other);
  }
  return true;
}

bool check_foreach_lerp(const Call& call) { return each_element(call, "tensors1", &check_two); }
bool check_foreach_addcmul(const Call& call) { return each_element(call, "tensor1", &check_addcmul); }

}  // namespace

std::span<const KernelCheck> scalar_checks() {
  static constexpr KernelCheck kChecks[] = {
      {.op = "aten::lerp.Scalar", .check = check_lerp_call, .is_further = true},
      {.op = "aten::lerp.Scalar_out", .check = check_lerp_call, .is_further = true},
      {.op = "aten::lerp_.Scalar", .check = check_lerp_call, .is_further = true},
      {.op = "aten::lerp.Tensor", .check = check_lerp_call, .is_further = true},
      {.op = "aten::lerp.Tensor_out", .check = check_lerp_call, .is_further = true},
      {.op = "aten::lerp_.Tensor", .check = check_lerp_call, .is_further = true},
      {.op = "aten::addcmul", .check = check_addcmul_call, .is_further = true},
      {.op = "aten::addcmul.out", .check = check_addcmul_call, .is_further = true},
      {.op = "aten::addcmul_", .check = check_addcmul_call, .is_further = true},
      {.op = "aten::smooth_l1_loss", .check = check_smooth_l1, .is_further = true},
      {.op = "aten::smooth_l1_loss.out", .check = check_smooth_l1, .is_further = true},
      {.op = "aten::mse_loss", .check = check_without_host_scalars, .is_further = true},
      {.op = "aten::mse_loss.out", .check = check_without_host_scalars, .is_further = true},
      {.op = "aten::_foreach_lerp.List", .check = check_foreach_lerp, .is_further = true},
      {.op = "aten::_foreach_lerp_.List", .check = check_foreach_lerp, .is_further = true},
      {.op = "aten::_foreach_lerp.Scalar", .check = check_foreach_lerp, .is_further = true},
      {.op = "aten::_foreach_lerp_.Scalar", .check = check_foreach_lerp, .is_further = true},
      {.op = "aten::_foreach_lerp.ScalarList", .check = check_foreach_lerp, .is_further = true},
      {.op = "aten::_foreach_lerp_.ScalarList", .check = check_foreach_lerp, .is_further = true},
      {.op = "aten::_foreach_addcmul.Scalar", .check = check_foreach_addcmul, .is_further = true},
      {.op = "aten::_foreach_addcmul_.Scalar", .check = check_foreach_addcmul, .is_further = true},
      {.op = "aten::_foreach_addcmul.ScalarList", .check = check_foreach_addcmul, .is_further = true},
      {.op = "aten::_foreach_addcmul_.ScalarList", .check = check_foreach_addcmul, .is_further = true},
  };
  return kChecks;
}

}  // namespace devsan::guard
