#include "emulate/calls/full_size/dtype_probe.h"

#include <mutex>
#include <string>
#include <unordered_map>

#include <ATen/Functions.h>

#include "emulate/calls/each_tensor.h"
#include "emulate/runtime/host_allocator.h"

namespace devsan::emulate {
namespace {

std::mutex g_refused_mutex;
std::unordered_map<std::string, bool>& refused() {
  static auto* const known = new std::unordered_map<std::string, bool>();  // the end of the process may still ask
  return *known;
}

/// Whether floating operands, single numbers aside, have several types.
bool is_mixture(c10::ArrayRef<c10::IValue> arguments) {
  std::optional<at::ScalarType> first;
  bool is_mixed = false;
  for (const c10::IValue& argument : arguments) {
    if (!argument.isTensor() && !argument.isList()) continue;
    for_each_tensor(argument, [&](const at::Tensor& tensor) {
      if (tensor.dim() == 0 || !at::isFloatingType(tensor.scalar_type())) return;
      is_mixed = is_mixed || (first.has_value() && *first != tensor.scalar_type());
      first = tensor.scalar_type();
    });
  }
  return is_mixed;
}

std::string with_types(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
  std::string key = c10::toString(op.operator_name());
  for (const c10::IValue& argument : arguments) {
    for_each_tensor(argument, [&](const at::Tensor& tensor) {
      key += ' ';
      key += c10::toString(tensor.scalar_type());
    });
  }
  return key;
}

at::Tensor of_one_element(const at::Tensor& tensor) {
  const std::vector<std::int64_t> sizes(static_cast<std::size_t>(tensor.dim()), 1);
  return at::zeros(sizes, at::TensorOptions(at::kCPU).dtype(tensor.scalar_type()));
}

bool try_it(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
  const DeviceScope uncharged(/*index=*/-1);
  torch::jit::Stack stack;
  for (const c10::IValue& argument : arguments) {
    if (argument.isTensor() && argument.toTensor().defined()) {
      stack.emplace_back(of_one_element(argument.toTensor()));
    } else if (argument.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const c10::IValue& element : argument.toListRef()) list.push_back(of_one_element(element.toTensor()));
      stack.emplace_back(std::move(list));
    } else {
      stack.push_back(argument);
    }
  }
  try {
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
  } catch (const std::exception& error) {
    return std::string_view(error.what()).find("type") != std::string_view::npos;
  }
  return false;
}

}  // namespace

bool refuses_dtypes(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
  if (C10_LIKELY(!is_mixture(arguments))) return false;
  const std::string key = with_types(op, arguments);
  {
    const std::lock_guard lock(g_refused_mutex);
    if (const auto found = refused().find(key); found != refused().end()) return found->second;
  }
  const bool is_refused = try_it(op, arguments);
  const std::lock_guard lock(g_refused_mutex);
  return refused()[key] = is_refused;
}

}  // namespace devsan::emulate
