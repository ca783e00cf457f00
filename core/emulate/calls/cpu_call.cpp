#include "emulate/calls/cpu_call.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/List.h>

#include "emulate/calls/cuda_words.h"
#include "emulate/calls/expected_results.h"
#include "emulate/calls/full_size/unknown_call.h"
#include "emulate/calls/workspaces.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/generator.h"
#include "emulate/runtime/gpu_trace.h"
#include "emulate/runtime/host_allocator.h"
#include "emulate/runtime/origin.h"

namespace devsan::emulate {
namespace {

/// A list with tensors in it, some perhaps absent (Tensor[], Tensor?[]).
bool is_tensor_list(const c10::IValue& value) {
  if (!value.isList()) return false;
  const auto elements = value.toListRef();
  return !elements.empty() && (elements.front().isTensor() || elements.front().isNone());
}

/// As collectives take them (c10d: Tensor[][]).
bool is_list_of_lists(const c10::IValue& value) {
  if (!value.isList()) return false;
  const auto elements = value.toListRef();
  return !elements.empty() && elements.front().isList();
}

bool takes_generator(const c10::Argument& argument) {
  return argument.type()->isSubtypeOf(*c10::OptionalType::create(c10::GeneratorType::get()));
}

/// The argument that an operator writes and returns as `result`, or -1.
int written_argument(const c10::FunctionSchema& schema, const c10::Argument& result) {
  const auto* alias = result.alias_info();
  if (alias == nullptr || !alias->isWrite()) return -1;
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const auto* given = schema.arguments()[i].alias_info();
    if (given != nullptr && given->isWrite() && given->beforeSets() == alias->beforeSets()) return static_cast<int>(i);
  }
  return -1;
}

c10::MaybeOwned<at::Tensor> owned(at::Tensor&& tensor) { return c10::MaybeOwned<at::Tensor>::owned(std::move(tensor)); }

/// The list at `value`, to change in place. Most often it was made for this call alone; another's is copied.
c10::List<c10::IValue> own_list(c10::IValue& value) {
  if (value.use_count() != 1) value = value.toList().copy();
  return value.toList();
}

void send_list(HostTensors& tensors, c10::IValue& argument, bool written) {
  c10::List<c10::IValue> list = own_list(argument);
  tensors.expect(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    c10::IValue element = list.extract(i);
    if (element.isTensor() && is_virtual(element.toTensor())) {
      element = tensors.alias(owned(std::move(element).toTensor()), written);
    } else if (element.isTensor()) {
      tensors.as_it_is(element.toTensor());
    }
    list.set(i, std::move(element));
  }
}

void send(HostTensors& tensors, c10::IValue& argument, bool written) {
  if (argument.isTensor()) {
    if (is_virtual(argument.toTensor())) {
      argument = tensors.alias(owned(std::move(argument).toTensor()), written);
    } else {
      tensors.as_it_is(argument.toTensor());
      if (C10_UNLIKELY(written)) tensors.writes_host(argument.toTensor());
    }
  } else if (argument.isDevice()) {
    if (argument.toDevice().is_cuda()) argument = c10::Device(c10::DeviceType::CPU);
  } else if (is_tensor_list(argument)) {
    send_list(tensors, argument, written);
  } else if (C10_UNLIKELY(is_list_of_lists(argument))) {
    c10::List<c10::IValue> lists = own_list(argument);
    for (std::size_t i = 0; i < lists.size(); ++i) {
      c10::IValue list = lists.extract(i);
      if (is_tensor_list(list)) send_list(tensors, list, written);
      lists.set(i, std::move(list));
    }
  }
}

void take_back(const HostTensors& tensors, c10::IValue& result, c10::Device device) {
  if (result.isTensor()) {
    result = tensors.take_back(std::move(result).toTensor(), device);
  } else if (result.isTensorList()) {
    c10::List<c10::IValue> list = own_list(result);
    for (std::size_t i = 0; i < list.size(); ++i) {
      list.set(i, tensors.take_back(list.extract(i).toTensor(), device));
    }
  }
}

/// See NOTE [Origins]. An operator that writes into a tensor without memory (arange.start_out) gives it its place.
record::Origin origin_of_results(const HostTensors& tensors, const CallPlan& plan, c10::Device device) {
  const record::Origin origin = tensors.origin(plan.op);
  const bool makes = tensors.empty() || (plan.writes && origin.placement == record::kUnknownPlacement);
  return C10_UNLIKELY(makes) ? note_made(plan.op, device.index()) : origin;
}

}  // namespace

CallPlan CallPlan::of(const c10::FunctionSchema& schema, c10::DispatchKey kernel) {
  CallPlan plan;
  plan.kernel = c10::DispatchKeySet(kernel);
  plan.op = record::Recorder::instance().intern(c10::toString(schema.operator_name()));
  plan.arguments = schema.arguments().size();
  plan.returns = schema.returns().size();
  plan.workspace = workspace_of(c10::toString(schema.operator_name()));
  plan.resizes = schema.name() == "aten::resize_";
  for (const c10::Argument& argument : schema.arguments()) {
    const auto* alias = argument.alias_info();
    plan.written.push_back(alias != nullptr && alias->isWrite());
    plan.is_generator.push_back(takes_generator(argument));
    plan.writes = plan.writes || plan.written.back();
    plan.draws_numbers = plan.draws_numbers || plan.is_generator.back();
    plan.is_placed =
        plan.is_placed || argument.type()->isSubtypeOf(*c10::OptionalType::create(c10::DeviceObjType::get()));
  }
  for (const c10::Argument& result : schema.returns()) {
    plan.returned.push_back(written_argument(schema, result));
    const auto* alias = result.alias_info();
    plan.is_view = plan.is_view || (alias != nullptr && !alias->isWrite());
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

void call_on_cpu(const c10::OperatorHandle& op, const CallPlan& plan, torch::jit::Stack* stack, c10::Device device) {
  // Asked now: the kernel takes the arguments.
  const Workspace::Arguments arguments(stack->data() + (stack->size() - plan.arguments), plan.arguments);
  const std::size_t workspace = C10_UNLIKELY(plan.workspace.bytes != nullptr) ? plan.workspace.bytes(arguments) : 0;
  const std::size_t kept = C10_UNLIKELY(plan.workspace.kept != nullptr) ? plan.workspace.kept(arguments) : 0;
  HostTensors tensors;
  c10::Device home = device;  // where results belong: an operator that copies may be asked for another device
  c10::IValue* argument = stack->data() + (stack->size() - plan.arguments);
  for (std::size_t i = 0; i < plan.arguments; ++i, ++argument) {
    if (C10_UNLIKELY(argument->isDevice())) {
      home = argument->toDevice();
      if (home.is_cuda()) home = resolve(home);  // a bare "cuda" is the current device, not the operands'
    }
    if (C10_UNLIKELY(plan.is_generator[i])) {
      *argument = host_generator(argument->isNone() ? at::Generator() : argument->toGenerator(), device.index());
    } else {
      send(tensors, *argument, plan.written[i]);
    }
  }
  if (plan.writes && record::Recorder::instance().is_on()) tensors.note_writes(plan.op);
  {
    // The kernel's own calls of operators run on CPU tensors below autograd, as they do under a CPU tensor's operator.
    const at::AutoDispatchBelowADInplaceOrView below;
    ResultsOfStack results(op, tensors, stack->data() + (stack->size() - plan.arguments), plan.arguments);
    const DeviceScope scope(device.index(), origin_of_results(tensors, plan, device),
                            C10_UNLIKELY(plan.resizes) ? nullptr : &results);
    // What the kernel resized before it refused has its new size (structured kernels do that). What it left half done,
    // a sparse tensor of new indices and old values, is left as it was.
    const auto keep_sizes = [&] {
      try {
        if (plan.writes) tensors.follow_writes();
      } catch (const c10::Error&) {
      }
    };
    try {
      if (C10_UNLIKELY(tensors.any_unknown())) {
        call_unknown(op, plan, plan.kernel, stack);
      } else {
        run_kernel(op, plan, stack);
      }
      if (C10_UNLIKELY(kept != 0)) keep_memory(torch::jit::peek(*stack, 0, plan.returns).toTensor(), kept);
    } catch (const c10::Error& error) {
      keep_sizes();
      raise_in_words_of_cuda(op.schema(), *stack, error);
      throw;
    } catch (...) {
      keep_sizes();
      throw;
    }
  }
  if (plan.writes) tensors.follow_writes();
  trace_waiting(op, device);
  if (C10_LIKELY(!home.is_cpu())) {
    c10::IValue* result = stack->data() + (stack->size() - plan.returns);
    for (std::size_t i = 0; i < plan.returns; ++i, ++result) take_back(tensors, *result, home);
  }
  if (C10_UNLIKELY(plan.workspace.is_needed())) take_workspace(plan.workspace, workspace, device);
}

}  // namespace devsan::emulate
