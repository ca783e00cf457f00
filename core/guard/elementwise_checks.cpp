#include "guard/kernel_checks.h"

#include <algorithm>

#include <c10/util/Exception.h>

#include "guard/operands.h"

namespace devsan::guard {
namespace {

/// aten/src/ATen/native/cuda/Loss.cu, binary_cross_entropy_out_cuda: the loss is made like the input, its iterator has no
/// exemption for CPU scalars, and the weight is multiplied afterwards.
bool check_binary_cross_entropy(const Call& call) {
  const Operands& operands = call.operands;
  OperandRef loss = *find(operands, find(operands, "out") != nullptr ? "out" : "self");
  loss.is_written = true;
  check_tensor_iterator({loss, *find(operands, "self"), *find(operands, "target")}, /*host_scalars=*/0);
  if (const OperandRef* weight = find(operands, "weight")) check_tensor_iterator({loss, *weight});
  return true;
}

/// aten/src/ATen/native/cuda/Distributions.cpp, _s_binomial_cuda: the result is made like count.
bool check_binomial(const Call& call) {
  OperandRef result = *find(call.operands, "count");
  result.is_written = true;
  check_tensor_iterator({result, *find(call.operands, "prob")}, /*host_scalars=*/0);
  return true;
}

/// aten/src/ATen/native/BinaryOps.cpp, rsub: sub(other, self).
bool check_rsub(const Call& call) {
  check_tensor_iterator({*find(call.operands, "other"), *find(call.operands, "self")});
  return true;
}

/// aten/src/ATen/native/ReduceOps.cpp, std_var_out: the dimensions are looked at before the devices.
bool check_std_var(const Call& call) {
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
bool check_mode(const Call& call) {
  const c10::Device device = tensor(call.operands, "self").device();
  for (const char* name : {"values", "indices"}) {
    const c10::Device other = tensor(call.operands, name).device();
    TORCH_CHECK(other == device, "expected device '", device, "' but got '", other, "' for ", name, " output");
  }
  return true;
}

/// aten/src/ATen/native/LinearAlgebra.cpp, addr_: addr_out(self, ...).
bool check_addr(const Call& call) {
  check_generated_for(call.operands, "wrapper_CUDA_out_addr_out",
                      {{"self", "out"}, {"self", "self"}, {"vec1", "vec1"}, {"vec2", "vec2"}});
  return true;
}

/// aten/src/ATen/native/cuda/ActivationLogSigmoidKernel.cu, log_sigmoid_forward_out_cuda: the buffer is the CPU's only.
bool check_log_sigmoid(const Call& call) {
  check_tensor_iterator({*find(call.operands, "output"), *find(call.operands, "self")}, /*host_scalars=*/0);
  return true;
}

/// aten/src/ATen/native/ReduceAllOps.cpp: a check without words of its own.
bool check_reduce_all(const Call& call) {
  const at::Tensor& self = tensor(call.operands, "self");
  const at::Tensor& out = tensor(call.operands, "out");
  TORCH_CHECK(self.device() == out.device(), "Expected self.device() == out.device() to be true, but got false.  ",
              "(Could this error message be improved?  If so, please report an enhancement request to PyTorch.)");
  return true;
}

}  // namespace

/// aten/src/ATen/native/UnaryOps.cpp: iterators without the exemption for CPU scalars.
bool check_without_host_scalars(const Call& call) {
  check_tensor_iterator(call.operands, /*host_scalars=*/0);
  return true;
}

std::span<const KernelCheck> elementwise_checks() {
  static constexpr KernelCheck kChecks[] = {
      {.op = "aten::binary_cross_entropy", .check = check_binary_cross_entropy},
      {.op = "aten::binary_cross_entropy.out", .check = check_binary_cross_entropy},
      {.op = "aten::binomial", .check = check_binomial},
      {.op = "aten::rsub.Tensor", .check = check_rsub, .host_scalars = 1},
      {.op = "aten::abs.out", .check = check_without_host_scalars},
      {.op = "aten::angle.out", .check = check_without_host_scalars},
      {.op = "aten::hardswish.out", .check = check_without_host_scalars},
      {.op = "aten::hardtanh.out", .check = check_without_host_scalars},
      {.op = "aten::logical_not.out", .check = check_without_host_scalars},
      {.op = "aten::std.correction_out", .check = check_std_var},
      {.op = "aten::var.correction_out", .check = check_std_var},
      {.op = "aten::mode.values", .check = check_mode},
      {.op = "aten::addr_", .check = check_addr},
      {.op = "aten::log_sigmoid_forward.output", .check = check_log_sigmoid},
      {.op = "aten::min.unary_out", .check = check_reduce_all},
      {.op = "aten::max.unary_out", .check = check_reduce_all},
      {.op = "aten::segment_reduce", .check = check_without_host_scalars, .is_further = true},
      {.op = "aten::_segment_reduce_backward", .check = check_without_host_scalars, .is_further = true},
  };
  return kChecks;
}

}  // namespace devsan::guard
