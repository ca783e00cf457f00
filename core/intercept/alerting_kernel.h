#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "guard/nondeterminism.h"
#include "intercept/checked_plan.h"

namespace devsan::intercept {

/// OperatorKernel for an operator whose CUDA kernel is not deterministic: raises or warns as that does, under
/// `torch.use_deterministic_algorithms(True)`.
class AlertingKernel final : public c10::OperatorKernel {
 public:
  explicit AlertingKernel(const c10::OperatorHandle& op, const guard::Nondeterminism& alert)
      : checked_(op), alert_(alert) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  CheckedPlan checked_;
  guard::Nondeterminism alert_;
};

}  // namespace devsan::intercept
