#include "emulate/host_call.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/List.h>

#include "emulate/generator.h"
#include "emulate/host_allocator.h"
#include "emulate/widened_call.h"

namespace devsan::emulate {
namespace {

/// A list with tensors in it, some perhaps absent (Tensor[], Tensor?[]).
bool is_tensor_list(const c10::IValue& value) {
  if (!value.isList()) return false;
  const auto elements = value.toListRef();
  return !elements.empty() && (elements.front().isTensor() || elements.front().isNone());
}

bool takes_generator(const c10::Argument& argument) {
  return argument.type()->isSubtypeOf(*c10::OptionalType::create(c10::GeneratorType::get()));
}

c10::MaybeOwned<at::Tensor> owned(at::Tensor&& tensor) { return c10::MaybeOwned<at::Tensor>::owned(std::move(tensor)); }

void send(HostTensors& tensors, c10::IValue& argument, bool written) {
  if (argument.isTensor()) {
    if (is_virtual(argument.toTensor())) {
      argument = tensors.alias(owned(std::move(argument).toTensor()), written);
    }
  } else if (argument.isDevice()) {
    if (argument.toDevice().is_cuda()) argument = c10::Device(c10::DeviceType::CPU);
  } else if (argument.isTensorList()) {
    c10::List<at::Tensor> aliases;
    for (const c10::IValue& element : argument.toListRef()) {
      const at::Tensor& tensor = element.toTensor();
      aliases.push_back(is_virtual(tensor) ? tensors.alias(owned(at::Tensor(tensor)), written) : tensor);
    }
    argument = std::move(aliases);
  } else if (is_tensor_list(argument)) {
    c10::List<std::optional<at::Tensor>> aliases;
    for (const c10::IValue& element : argument.toListRef()) {
      auto tensor = element.toOptional<at::Tensor>();
      if (tensor.has_value() && is_virtual(*tensor)) {
        tensor = tensors.alias(owned(*std::move(tensor)), written);
      }
      aliases.push_back(std::move(tensor));
    }
    argument = std::move(aliases);
  }
}

/// The device that a `device` argument names, among them a bare "cuda".
c10::Device named(c10::Device argument, c10::Device device) {
  return argument.is_cuda() && !argument.has_index() ? device : argument;
}

void take_back(const HostTensors& tensors, c10::IValue& result, c10::Device device) {
  if (result.isTensor()) {
    result = tensors.take_back(std::move(result).toTensor(), device);
  } else if (result.isTensorList()) {
    c10::List<at::Tensor> taken;
    for (const c10::IValue& element : result.toListRef()) {
      taken.push_back(tensors.take_back(at::Tensor(element.toTensor()), device));
    }
    result = std::move(taken);
  }
}

}  // namespace

CallPlan CallPlan::of(const c10::FunctionSchema& schema, c10::DispatchKey kernel) {
  CallPlan plan;
  plan.kernel = c10::DispatchKeySet(kernel);
  plan.arguments = schema.arguments().size();
  plan.returns = schema.returns().size();
  for (const c10::Argument& argument : schema.arguments()) {
    const auto* alias = argument.alias_info();
    plan.written.push_back(alias != nullptr && alias->isWrite());
    plan.is_generator.push_back(takes_generator(argument));
    plan.writes = plan.writes || plan.written.back();
    plan.draws_numbers = plan.draws_numbers || plan.is_generator.back();
  }
  return plan;
}

Placement placement_of(const torch::jit::Stack& stack, const CallPlan& plan) {
  Placement placement;
  const c10::IValue* value = stack.data() + (stack.size() - plan.arguments);
  for (std::size_t i = 0; i < plan.arguments; ++i, ++value) {
    if (value->isTensor()) {
      placement.look_at(value->toTensor(), plan.written[i]);
    } else if (C10_UNLIKELY(is_tensor_list(*value))) {
      for (const c10::IValue& element : value->toListRef()) {
        if (element.isTensor()) placement.look_at(element.toTensor(), plan.written[i]);
      }
    }
  }
  return placement;
}

void call_on_host(const c10::OperatorHandle& op, const CallPlan& plan, torch::jit::Stack* stack, c10::Device device) {
  HostTensors tensors;
  c10::Device home = device;  // where results belong: an operator that copies may be asked for another device
  c10::IValue* argument = stack->data() + (stack->size() - plan.arguments);
  for (std::size_t i = 0; i < plan.arguments; ++i, ++argument) {
    if (C10_UNLIKELY(argument->isDevice())) home = named(argument->toDevice(), device);
    if (C10_UNLIKELY(plan.is_generator[i])) {
      *argument = host_generator(argument->isNone() ? at::Generator() : argument->toGenerator(), device.index());
    } else {
      send(tensors, *argument, plan.written[i]);
    }
  }
  {
    // The kernel's own calls of operators run on CPU tensors below autograd, as they do under a CPU tensor's operator.
    const at::AutoDispatchBelowADInplaceOrView below;
    const DeviceScope scope(device.index());
    run_kernel(op, plan, stack);
  }
  if (plan.writes) tensors.follow_writes();
  if (home.is_cpu()) return;
  c10::IValue* result = stack->data() + (stack->size() - plan.returns);
  for (std::size_t i = 0; i < plan.returns; ++i, ++result) take_back(tensors, *result, home);
}

}  // namespace devsan::emulate
