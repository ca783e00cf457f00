#include "intercept/alerting_kernel.h"

#include <ATen/Context.h>

namespace devsan::intercept {

void AlertingKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
  const c10::Device device = checked_.device_of(*stack);
  if (C10_UNLIKELY(at::globalContext().deterministicAlgorithms()) &&
      (alert_.applies == nullptr || alert_.applies(op.schema(), *stack))) {
    at::Context::alertNotDeterministic(alert_.caller);
  }
  emulate::call_on_cpu(op, checked_.plan, stack, device);
}

}  // namespace devsan::intercept
