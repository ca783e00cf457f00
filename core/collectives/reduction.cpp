#include "collectives/reduction.h"

#include <ATen/Functions.h>

#include "collectives/failures.h"
#include "collectives/left_out.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/tensor.h"

namespace devsan::collectives {
namespace {

using c10d::ReduceOp;

void expect_float8_on(c10::Device device) {
  if (emulate::device(device.index()).spec.major >= 9) return;
  // taskAppend of NCCL's src/enqueue.cc
  C10_THROW_ERROR(DistBackendError, invalid_argument("FP8 reduction support begins with sm90 capable devices."));
}

[[noreturn]] void refuse_bitwise(const char* name) {
  C10_THROW_ERROR(ValueError, std::string("Cannot use ReduceOp.") + name + " with NCCL");
}

}  // namespace

Reduction reduction_of(const ReduceOp& op, const at::Tensor& tensor, int ranks) {
  const at::ScalarType type = tensor.scalar_type();
  Reduction reduction;
  reduction.op = op;
  reduction.type = type;
  if (type == at::kFloat8_e4m3fn || type == at::kFloat8_e5m2) {
    expect_float8_on(tensor.device());
    reduction.type = at::kFloat;
    reduction.widened = true;
  } else if (at::isFloat8Type(type)) {
    TORCH_CHECK(false, "Unsupported Float8 type for NCCL reduction");
  }
  const ReduceOp::RedOpType kind = op;
  switch (kind) {
    case ReduceOp::BAND:
      refuse_bitwise("BAND");
    case ReduceOp::BOR:
      refuse_bitwise("BOR");
    case ReduceOp::BXOR:
      refuse_bitwise("BXOR");
    case ReduceOp::AVG:
      if (type == at::kBool) C10_THROW_ERROR(TypeError, "Cannot use ReduceOp.AVG with boolean inputs");
      reduction.op = ReduceOp(ReduceOp::SUM);
      // NCCL multiplies before it adds, which a sum of halves could not bear afterwards (ncclDevPreMulSum).
      if (type == at::kHalf) {
        reduction.factor = 1.0 / ranks;
      } else {
        reduction.divisor = ranks;
      }
      break;
    case ReduceOp::PREMUL_SUM: {
      const auto* supplement = dynamic_cast<const c10d::NCCLPreMulSumSupplement*>(op.supplement_.get());
      TORCH_CHECK(supplement != nullptr, "devsan: expected ReduceOp.PREMUL_SUM with its factor, got none");
      if (supplement->tensor_factor.defined()) {
        reduction.factor_tensor = emulate::on_host(supplement->tensor_factor);
      } else {
        reduction.factor = supplement->double_factor;
      }
      reduction.op = ReduceOp(ReduceOp::SUM);
      break;
    }
    case ReduceOp::SUM:
      // Both are a bitwise or of 0 and 1, and a maximum does not overflow.
      if (type == at::kBool) reduction.op = ReduceOp(ReduceOp::MAX);
      break;
    default:
      break;
  }
  if (type == at::kBool) reduction.type = at::kByte;
  return reduction;
}

at::Tensor Reduction::before(const at::Tensor& host) const {
  if (!widened && is_left_out(host)) return host;  // nobody computes in it, and a copy would count as host memory
  at::Tensor given = widened ? host.to(type) : host.clone();
  if (factor_tensor.has_value()) given.mul_(factor_tensor->to(given.scalar_type()).reshape({}));
  if (factor.has_value()) given.mul_(*factor);
  return given;
}

void Reduction::after(const at::Tensor& reduced, const at::Tensor& result) const {
  if (divisor != 1) {
    if (at::isIntegralType(reduced.scalar_type(), /*includeBool=*/false)) {
      reduced.div_(divisor, "trunc");
    } else {
      reduced.div_(divisor);
    }
  }
  if (!reduced.is_alias_of(result)) result.copy_(reduced.view(result.sizes()));
}

}  // namespace devsan::collectives
