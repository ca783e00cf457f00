#include "intercept/alignment.h"

#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <algorithm>
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

bool is_said_to_be_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

/// Batch norm writes to its running statistics, and its schemas do not say so (native_functions.yaml: native_batch_norm,
/// cudnn_batch_norm, instance_norm): the update of a copy would be lost.
bool is_written(const c10::Argument& argument) {
  return is_said_to_be_written(argument) || argument.name() == "running_mean" || argument.name() == "running_var";
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

/// Where the tensors of a call are to meet, and the layout whose kernel they would reach.
struct Meeting {
  c10::Device place;
  guard::Layout layout;
};

/// The layout whose kernel the dispatcher prefers; none where a tensor's cannot be moved between devices.
std::optional<guard::Layout> joined(std::optional<guard::Layout> layout, c10::Layout other) {
  switch (other) {
    case c10::kStrided:
      return layout;
    case c10::kSparse:
      return layout ? std::optional(std::max(*layout, guard::Layout::kSparse)) : std::nullopt;
    case c10::kSparseCsr:
    case c10::kSparseCsc:
    case c10::kSparseBsr:
    case c10::kSparseBsc:
      return layout ? std::optional(guard::Layout::kSparseCompressed) : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// None where all tensors are on one device, or none is on an emulated GPU.
std::optional<Meeting> meeting_of(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  emulate::Placement placement;
  std::optional<c10::Device> written;
  std::optional<guard::Layout> layout = guard::Layout::kStrided;
  for_each_tensor(schema, stack, [&](const at::Tensor& tensor, bool is_written) {
    if (!tensor.defined()) return;
    placement.look_at(tensor, is_written);
    layout = joined(layout, tensor.layout());
    if (is_written && !written) written = tensor.device();
  });
  if (!placement.any || !layout || !(placement.mixed || placement.host_scalars > 0)) return std::nullopt;
  return Meeting{written.value_or(placement.device), *layout};
}

/// Whether an operator asks something about its operands: whether cuDNN has a CTC loss for them. torch gives it no check
/// and answers with no tensor, so that it takes them wherever they are.
bool is_question(const c10::OperatorHandle& op, const guard::OperatorCheck& check) {
  const auto& returns = op.schema().returns();
  const bool computes = returns.empty() || std::any_of(returns.begin(), returns.end(), [](const c10::Argument& result) {
                          return result.type()->kind() != c10::TypeKind::BoolType;
                        });
  return check.rule == guard::Rule::kKernel && !computes && !guard::has_kernel_check(check.op);
}

/// Whether CUDA refuses the call. It has been told then.
bool is_refused(const c10::OperatorHandle& op, const torch::jit::Stack& stack, guard::Layout layout) {
  const std::string name = c10::toString(op.operator_name());
  const guard::OperatorCheck check = guard::check_of(name, layout);
  const bool composite = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  const bool is_known = layout != guard::Layout::kStrided || check.rule != guard::Rule::kUnknown;
  if ((composite || !is_known) && !guard::has_kernel_check(name)) return false;
  if (is_question(op, check)) return false;
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

bool writes(const c10::FunctionSchema& schema) {
  return std::any_of(schema.arguments().begin(), schema.arguments().end(), is_said_to_be_written);
}

/// Makes a call that no check refuses. Composites and kernels have checks of their own (`X1 and X2 must have the same
/// device type`, in cdist_impl of ATen/native/Distance.cpp): where one of them refuses a call that writes nothing, the
/// call is told and made again with its operands on one device. So it is where an operator that has a derivative calls
/// another one, as aten::embedding calls aten::index_select: autograd has noted its operands already, and takes gradients
/// where these are.
void call_or_meet(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack,
                  const Meeting& meeting) {
  const std::size_t below = stack->size() - op.schema().arguments().size();
  const torch::jit::Stack arguments(stack->begin() + static_cast<std::ptrdiff_t>(below), stack->end());
  const bool does_write = writes(op.schema());
  const bool has_derivative = !op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  try {
    std::optional<c10::impl::ExcludeDispatchKeyGuard> whole;
    if (has_derivative && !does_write) whole.emplace(kKey);
    op.redispatchBoxed(keys, stack);
    return;
  } catch (const c10::Error& error) {
    const std::string sentence = error.what_without_backtrace();
    if (sentence.find("device") == std::string::npos || does_write) throw;
    stack->resize(below);
    stack->insert(stack->end(), arguments.begin(), arguments.end());
    if (guard::last_refusal().message != sentence) {  // by a check of its own
      guard::remember_refusal(guard::check_of(c10::toString(op.operator_name()), meeting.layout), op.schema(), *stack,
                              sentence);
    }
    if (const auto tell = told()) (*tell)(sentence.c_str());
  }
  at::Tensor copy;
  {
    const c10::impl::ExcludeDispatchKeyGuard aside(kKey);
    copy = move_operands(op.schema(), *stack, meeting.place);
  }
  op.redispatchBoxed(keys, stack);
  if (copy.defined()) mark_results(op, *stack, copy);
}

void align(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  if (C10_UNLIKELY(emulate::takes_any_generator())) bring_generator(op.schema(), *stack);
  const std::optional<Meeting> meeting = meeting_of(op.schema(), *stack);
  const c10::DispatchKeySet below = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey);
  if (C10_LIKELY(!meeting.has_value())) return op.redispatchBoxed(below, stack);
  at::Tensor copy;
  {
    const c10::impl::ExcludeDispatchKeyGuard aside(kKey);  // neither the look nor the copies are looked at
    if (is_refused(op, *stack, meeting->layout)) copy = move_operands(op.schema(), *stack, meeting->place);
  }
  if (!copy.defined()) return call_or_meet(op, below, stack, *meeting);
  op.redispatchBoxed(below, stack);
  mark_results(op, *stack, copy);
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
