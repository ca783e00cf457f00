#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "guard/nondeterminism.h"
#include "intercept/checked_plan.h"

namespace devsan::intercept {

/// DevSan's kernel for one operator on emulated tensors: looks where the operands are, checks the devices of a mixed call,
/// and has it carried out by the kernel of `kernel`. One object an operator, made once, so that a call looks nothing up.
class OperatorKernel final : public c10::OperatorKernel {
 public:
  explicit OperatorKernel(const c10::OperatorHandle& op, c10::DispatchKey kernel = c10::DispatchKey::CPU)
      : checked_(op, kernel) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  CheckedPlan checked_;
};

/// The same for an operator that makes tensors from none.
class FactoryKernel final : public c10::OperatorKernel {
 public:
  explicit FactoryKernel(const c10::OperatorHandle& op, c10::DispatchKey kernel = c10::DispatchKey::CPU)
      : plan_(emulate::CallPlan::of(op.schema(), kernel)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  emulate::CallPlan plan_;
};

/// For recurrent networks and cells, which fall back to the CPU whole, above autograd: see NOTE [CPU fallback] in
/// emulate/calls/cpu_fallback.h.
class RecurrentKernel final : public c10::OperatorKernel {
 public:
  explicit RecurrentKernel(const c10::OperatorHandle& op) : checked_(op) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  CheckedPlan checked_;
};

/// For composites that have a kernel of their own on CUDA only: its check, then the composite.
class CheckedCompositeKernel final : public c10::OperatorKernel {
 public:
  explicit CheckedCompositeKernel(const c10::OperatorHandle& op) : checked_(op) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

 private:
  CheckedPlan checked_;
};

/// For operators that no kernel is registered for: those of other libraries (torchvision::, bitsandbytes::, the user's).
void call_any_operator(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

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
