#include "guard/meta_functions.h"

#include <algorithm>
#include <iterator>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/boxing/KernelFunction.h>

// Written by tools/generate_device_checks.py from the installed torch's native_functions.yaml.
#include "guard/meta_headers.inc"

namespace devsan::guard {
namespace {

template <typename Function, Function* function>
void call_boxed(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto kernel =
      c10::KernelFunction::makeFromUnboxedFunction(c10::CompileTimeFunctionPointer<Function, function>());
  kernel.callBoxed(op, c10::DispatchKeySet(c10::DispatchKey::Meta), stack);
}

struct MetaRow {
  std::string_view op;
  void (*call)(const c10::OperatorHandle& op, torch::jit::Stack* stack);
};

// The operator, the function's type in parentheses, and its name; sorted by operator.
#define DEVSAN_UNPACK(...) __VA_ARGS__
#define DEVSAN_META(op, returned, name, arguments) \
  MetaRow{op, &call_boxed<DEVSAN_UNPACK returned arguments, &at::meta::name>},
constexpr MetaRow kFunctions[] = {
#include "guard/meta_functions.inc"
};
#undef DEVSAN_META
#undef DEVSAN_UNPACK

}  // namespace

bool ask_meta_function(std::string_view op, const c10::FunctionSchema& schema, const torch::jit::Stack& arguments) {
  const auto* end = std::end(kFunctions);
  const auto* found = std::lower_bound(std::begin(kFunctions), end, op,
                                       [](const MetaRow& row, std::string_view key) { return row.op < key; });
  if (found == end || found->op != op) return false;
  const auto handle =
      c10::Dispatcher::singleton().findSchemaOrThrow(schema.name().c_str(), schema.overload_name().c_str());
  torch::jit::Stack stack(arguments.end() - static_cast<std::ptrdiff_t>(schema.arguments().size()), arguments.end());
  const at::AutoDispatchBelowADInplaceOrView below;
  found->call(handle, &stack);
  return true;
}

}  // namespace devsan::guard
