#include "intercept/operator_kernel.h"

#include "emulate/device.h"
#include "emulate/factories.h"
#include "emulate/through_host.h"

namespace devsan::intercept {
namespace {

std::string full_name(const c10::OperatorHandle& op) { return c10::toString(op.operator_name()); }

void refuse_operator(const c10::OperatorHandle& op) {
  TORCH_CHECK_NOT_IMPLEMENTED(op.hasKernelForDispatchKey(c10::DispatchKey::CPU), "devsan: operator ", full_name(op),
                              " has no CPU kernel, so an emulated GPU cannot run it; see docs/limits.md");
}

/// Numbers for a CPU tensor from a GPU's generator: the words of aten/src/ATen/core/Generator.h, check_generator.
void refuse_generator(const emulate::CallPlan& plan, const torch::jit::Stack& stack) {
  const c10::IValue* value = stack.data() + (stack.size() - plan.arguments);
  for (std::size_t i = 0; i < plan.arguments; ++i) {
    TORCH_CHECK(!plan.is_generator[i] || value[i].isNone(),
                "Expected a 'cpu' device type for generator but found 'cuda'");
  }
}

/// Has a call on several devices judged; says on which device its results belong.
c10::Device device_of_call(const c10::OperatorHandle& op, const emulate::CallPlan& plan, const guard::Verdict& verdict,
                           const torch::jit::Stack& stack) {
  const emulate::Placement placement = emulate::placement_of(stack, plan);
  if (C10_UNLIKELY(guard::is_suspect(verdict, placement.mixed, placement.host_scalars))) {
    guard::judge(verdict, op.schema(), stack);
  }
  if (C10_LIKELY(placement.any)) return placement.device;
  refuse_generator(plan, stack);
  return {c10::DeviceType::CUDA, emulate::current_device()};
}

void run(const c10::OperatorHandle& op, const emulate::CallPlan& plan, const guard::Verdict& verdict,
         torch::jit::Stack* stack) {
  emulate::call_on_host(op, plan, stack, device_of_call(op, plan, verdict, *stack));
}

}  // namespace

OperatorKernel::OperatorKernel(const c10::OperatorHandle& op, c10::DispatchKey kernel)
    : name_(full_name(op)), plan_(emulate::CallPlan::of(op.schema(), kernel)), verdict_(guard::verdict_of(name_)) {}

void OperatorKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
  run(op, plan_, verdict_, stack);
}

FactoryKernel::FactoryKernel(const c10::OperatorHandle& op, c10::DispatchKey kernel)
    : plan_(emulate::CallPlan::of(op.schema(), kernel)) {}

void FactoryKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
  emulate::make_on_host(op, plan_, stack);
}

CompositeKernel::CompositeKernel(const c10::OperatorHandle& op)
    : name_(full_name(op)), plan_(emulate::CallPlan::of(op.schema())), verdict_(guard::verdict_of(name_)) {}

void CompositeKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
                                 torch::jit::Stack* stack) {
  emulate::call_through_host(op, plan_, stack, device_of_call(op, plan_, verdict_, *stack));
}

CheckedCompositeKernel::CheckedCompositeKernel(const c10::OperatorHandle& op)
    : name_(full_name(op)), plan_(emulate::CallPlan::of(op.schema())), verdict_(guard::verdict_of(name_)) {}

void CheckedCompositeKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
                                        torch::jit::Stack* stack) {
  device_of_call(op, plan_, verdict_, *stack);
  // The composite stands at the autograd key of every backend that has no kernel; this one is nobody's.
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::AutogradPrivateUse2), stack);
}

void call_any_operator(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
  refuse_operator(op);
  const std::string name = full_name(op);
  run(op, emulate::CallPlan::of(op.schema()), guard::verdict_of(name), stack);
}

}  // namespace devsan::intercept
