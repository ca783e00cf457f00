#include "intercept/alignment.h"

#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "emulate/calls/host_tensors.h"
#include "emulate/runtime/generator.h"
#include "emulate/runtime/origin.h"
#include "guard/device_check.h"

namespace devsan::intercept {
namespace {

// torch keeps this key, above autograd and below Python's modes, for whoever wants to see every operator of a thread.
constexpr c10::DispatchKey kKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

std::mutex g_mutex;
std::shared_ptr<const Told> g_told;  // of the process: autograd's workers have no thread of the program to ask

std::shared_ptr<const Told> told() {
  const std::lock_guard<std::mutex> lock(g_mutex);
  return g_told;
}

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

/// Calls `visit(tensor, is_written)` for every tensor among the arguments, in lists too.
template <typename Visit>
void for_each_tensor(const c10::FunctionSchema& schema, const torch::jit::Stack& stack, const Visit& visit) {
  const auto& arguments = schema.arguments();
  const c10::IValue* value = stack.data() + (stack.size() - arguments.size());
  for (const c10::Argument& argument : arguments) {
    if (value->isTensor()) {
      visit(value->toTensor(), is_written(argument));
    } else if (value->isList()) {
      for (const c10::IValue& element : value->toListRef()) {
        if (element.isTensor()) visit(element.toTensor(), is_written(argument));
      }
    }
    ++value;
  }
}

/// Where the call's tensors are to meet; none where all are on one device, or none is on an emulated GPU.
std::optional<c10::Device> meeting_place(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  emulate::Placement placement;
  std::optional<c10::Device> written;
  bool strided = true;
  for_each_tensor(schema, stack, [&](const at::Tensor& tensor, bool is_written) {
    if (!tensor.defined()) return;
    placement.look_at(tensor, is_written);
    strided = strided && tensor.layout() == c10::kStrided;
    if (is_written && !written) written = tensor.device();
  });
  if (!placement.any || !strided || !(placement.mixed || placement.host_scalars > 0)) return std::nullopt;
  return written.value_or(placement.device);
}

/// Whether CUDA refuses the call. It has been told then.
bool is_refused(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const std::string name = c10::toString(op.operator_name());
  const guard::OperatorCheck check = guard::check_of(name);
  const bool composite = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  if ((composite || check.rule == guard::Rule::kUnknown) && !guard::has_kernel_check(name)) return false;
  std::string sentence;
  try {
    guard::check_devices(check, op.schema(), stack);
    return false;
  } catch (const c10::Error& error) {
    sentence = error.what_without_backtrace();
  }
  if (const auto tell = told()) (*tell)(sentence.c_str());
  return true;
}

/// Brings what the operator only reads to `device`.
/// @return a copy that was made for it; undefined where none was
at::Tensor move_operands(const c10::FunctionSchema& schema, torch::jit::Stack& stack, c10::Device device) {
  at::Tensor copy;
  const auto moved = [&](const at::Tensor& tensor, c10::Device to) {
    if (!tensor.defined() || tensor.device() == to) return tensor;
    return copy = tensor.to(to);
  };
  const auto& arguments = schema.arguments();
  c10::IValue* value = stack.data() + (stack.size() - arguments.size());
  for (const c10::Argument& argument : arguments) {
    if (!is_written(argument)) {
      if (value->isTensor()) {
        *value = moved(value->toTensor(), device);
      } else if (value->isTensorList()) {
        c10::List<at::Tensor> list;
        for (const at::Tensor& tensor : value->toTensorVector()) list.push_back(moved(tensor, device));
        *value = std::move(list);
      } else if (value->isOptionalTensorList()) {
        c10::List<std::optional<at::Tensor>> list;
        for (const std::optional<at::Tensor>& tensor : value->toOptionalTensorVector()) {
          list.push_back(tensor ? std::optional(moved(*tensor, device)) : std::nullopt);
        }
        *value = std::move(list);
      }
    }
    ++value;
  }
  return copy;
}

/// What comes of a call that should not have been is known by its place: its own mismatches follow from that one.
void mark_results(const c10::OperatorHandle& op, const torch::jit::Stack& stack, const at::Tensor& copy) {
  const record::OperatorId id = record::Recorder::instance().intern(op.operator_name().name);
  for (const c10::IValue& result : torch::jit::last(stack, op.schema().returns().size())) {
    if (result.isTensor() && emulate::is_virtual(result.toTensor())) {
      emulate::note_computed_from(id, result.toTensor(), copy);
    }
  }
}

/// Whether the call computes on the CPU: it has no tensor of a GPU, and names none.
bool is_for_host(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  bool found = false;
  for_each_tensor(schema, stack, [&](const at::Tensor& tensor, bool /*is_written*/) {
    found = found || (tensor.defined() && !tensor.device().is_cpu());
  });
  for (const c10::IValue& value : torch::jit::last(stack, schema.arguments().size())) {
    found = found || (value.isDevice() && !value.toDevice().is_cpu());
  }
  return !found;
}

/// Puts the CPU's twin in the place of a GPU's generator where the numbers are for the CPU.
void bring_generator(const c10::FunctionSchema& schema, torch::jit::Stack& stack) {
  for (std::size_t i = stack.size() - schema.arguments().size(); i < stack.size(); ++i) {
    if (!stack[i].isGenerator() || stack[i].toGenerator().device().is_cpu()) continue;
    if (is_for_host(schema, stack)) stack[i] = emulate::host_generator(stack[i].toGenerator(), 0);
  }
}

void align(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  if (C10_UNLIKELY(emulate::takes_any_generator())) bring_generator(op.schema(), *stack);
  const std::optional<c10::Device> place = meeting_place(op.schema(), *stack);
  at::Tensor copy;
  if (C10_UNLIKELY(place.has_value())) {
    const c10::impl::ExcludeDispatchKeyGuard below(kKey);  // neither the look nor the copies are looked at
    if (is_refused(op, *stack)) copy = move_operands(op.schema(), *stack, *place);
  }
  op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey), stack);
  if (C10_UNLIKELY(copy.defined())) mark_results(op, *stack, copy);
}

}  // namespace

void start_alignment(Told tell) {
  static auto* library = [] {
    auto* made = new torch::Library(torch::Library::IMPL, "_", kKey, __FILE__, static_cast<std::uint32_t>(__LINE__));
    made->fallback(torch::CppFunction::makeFromBoxedFunction<&align>());
    return made;  // leaked, as the operators' own library is: see register_operators
  }();
  static_cast<void>(library);
  {
    const std::lock_guard<std::mutex> lock(g_mutex);
    g_told = std::make_shared<const Told>(std::move(tell));
  }
  c10::impl::tls_set_dispatch_key_included(kKey, true);
}

void join_alignment() {
  if (told()) c10::impl::tls_set_dispatch_key_included(kKey, true);
}

void stop_alignment() {
  c10::impl::tls_set_dispatch_key_included(kKey, false);
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_told.reset();
}

}  // namespace devsan::intercept
