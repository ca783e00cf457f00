#include "intercept/operator_kernel.h"

#include <ATen/Context.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "emulate/operators/factories.h"
#include "emulate/operators/networks/recurrent_networks.h"
#include "intercept/operator_lists.h"

namespace devsan::intercept {
namespace {

void refuse_operator(const c10::OperatorHandle& op) {
  TORCH_CHECK_NOT_IMPLEMENTED(op.hasKernelForDispatchKey(c10::DispatchKey::CPU), "devsan: operator ",
                              c10::toString(op.operator_name()),
                              " has no CPU kernel, so an emulated GPU cannot run it; see docs/limits.md");
}

/// The words of c10::impl::OperatorEntry::reportError, up to the list of backends.
void refuse_missing(const c10::OperatorHandle& op) {
  const std::string name = c10::toString(op.operator_name());
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "Could not run '", name, "' with arguments from the 'CUDA' backend. This could be because the operator ",
      "doesn't exist for this backend, or was omitted during the selective/custom build process (if using custom ",
      "build).");
}

void run(const c10::OperatorHandle& op, const CheckedPlan& checked, torch::jit::Stack* stack) {
  emulate::call_on_cpu(op, checked.plan, stack, checked.device_of(*stack));
}

}  // namespace

void OperatorKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
  run(op, checked_, stack);
}

void FactoryKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
  emulate::make_on_host(op, plan_, stack);
}

void RecurrentKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
                                 torch::jit::Stack* stack) {
  // torch.func looks at every operator below; it cannot look through a function of autograd's that is written in C++.
  if (C10_UNLIKELY(c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::FuncTorchDynamicLayerFrontMode))) {
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::AutogradPrivateUse2), stack);
    return;
  }
  emulate::call_recurrent(op, checked_.plan, stack, checked_.device_of(*stack));
}

void CheckedCompositeKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
                                        torch::jit::Stack* stack) {
  checked_.device_of(*stack);
  // The composite stands at the keys of every backend that has no kernel, the autograd key if it is differentiable as it
  // is; this backend is nobody's.
  const bool implicit = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  const auto key = implicit ? c10::DispatchKey::AutogradPrivateUse2 : c10::DispatchKey::PrivateUse2;
  op.redispatchBoxed(c10::DispatchKeySet(key), stack);
}

void call_any_operator(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
  const CheckedPlan& checked = plan_of(op);
  if (is_of_host_library(op.schema().name())) refuse_missing(op);
  if (!op.hasKernelForDispatchKey(c10::DispatchKey::CPU)) {
    if (is_missing_on_cuda(op, c10::toString(op.operator_name()))) refuse_missing(op);
    // CUDA compares devices before DevSan says what it cannot run.
    checked.device_of(*stack);
  }
  refuse_operator(op);
  run(op, checked, stack);
}

void AlertingKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
  const c10::Device device = checked_.device_of(*stack);
  if (C10_UNLIKELY(at::globalContext().deterministicAlgorithms()) &&
      (alert_.applies == nullptr || alert_.applies(op.schema(), *stack))) {
    at::Context::alertNotDeterministic(alert_.caller);
  }
  emulate::call_on_cpu(op, checked_.plan, stack, device);
}

}  // namespace devsan::intercept
