#include "intercept/meta_watch.h"

#include <memory>
#include <string>
#include <string_view>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include "guard/meta_mixes.h"
#include "guard/operands.h"

namespace devsan::intercept {
namespace {

std::unique_ptr<torch::Library> g_library;

/// The name of the first operand without elements; empty where there is none, or no real one beside it.
std::string meta_operand(const guard::Operands& operands) {
  const guard::OperandRef* meta = nullptr;
  bool real = false;
  for (const guard::OperandRef& operand : operands) {
    if (!operand.tensor->is_meta()) {
      real = true;
    } else if (meta == nullptr) {
      meta = &operand;
    }
  }
  return real && meta != nullptr ? meta->name() : std::string();
}

bool has_real_result(const torch::jit::Stack& stack, std::size_t returns) {
  for (std::size_t i = stack.size() - returns; i < stack.size(); ++i) {
    const c10::IValue& result = stack[i];
    if (result.isTensor() && result.toTensor().defined() && !result.toTensor().is_meta()) return true;
  }
  return false;
}

class MetaWatch final : public c10::OperatorKernel {
 public:
  explicit MetaWatch(const c10::OperatorHandle& op)
      : name_(c10::toString(op.operator_name())),
        meta_kernel_(op.getComputedKernelForDispatchKey(c10::DispatchKey::Meta)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const std::string operand = meta_operand(guard::operands_of(op.schema(), *stack));
    meta_kernel_.callBoxed(op, keys, stack);
    if (!operand.empty() && has_real_result(*stack, op.schema().returns().size())) {
      guard::note_meta_mix(name_, operand);
    }
  }

 private:
  std::string name_;
  c10::SafeKernelFunction meta_kernel_;
};

bool takes_several_tensors(const c10::FunctionSchema& schema) {
  int tensors = 0;
  for (const c10::Argument& argument : schema.arguments()) {
    const std::string type = argument.type()->str();
    if (type.find("Tensor") != std::string::npos) tensors += type.find("[]") == std::string::npos ? 1 : 2;
  }
  return tensors > 1;
}

/// An operator that returns nothing that it made has no result to ask about.
bool makes_tensors(const c10::FunctionSchema& schema) {
  for (const c10::Argument& result : schema.returns()) {
    if (result.alias_info() != nullptr) return false;
  }
  return !schema.returns().empty();
}

class Silence final : public c10::WarningHandler {
  void process(const c10::Warning& /*warning*/) override {}
};

}  // namespace

void start_meta_watch() {
  if (g_library != nullptr) return;
  Silence silence;
  const c10::WarningUtils::WarningHandlerGuard guard(&silence);  // torch warns of every kernel that is overridden
  auto& dispatcher = c10::Dispatcher::singleton();
  g_library = std::make_unique<torch::Library>(torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__,
                                               static_cast<std::uint32_t>(__LINE__));
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0) continue;
    const auto op = dispatcher.findSchema(name);
    if (!op.has_value() || !op->hasKernelForDispatchKey(c10::DispatchKey::Meta)) continue;
    if (!takes_several_tensors(op->schema()) || !makes_tensors(op->schema())) continue;
    g_library->impl(c10::toString(name).c_str(),
                    torch::CppFunction::makeFromBoxedFunctor(std::make_unique<MetaWatch>(*op)));
  }
}

void stop_meta_watch() { g_library.reset(); }

}  // namespace devsan::intercept
