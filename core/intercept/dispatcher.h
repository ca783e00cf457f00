#pragma once

#include <memory>
#include <string>
#include <utility>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

namespace devsan::intercept {

/// Calls `visit(operator, "aten::add.Tensor")` for every operator of aten that the dispatcher knows.
template <typename Visit>
void for_each_aten_operator(const Visit& visit) {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0) continue;
    const auto op = dispatcher.findSchema(name);
    if (op.has_value()) visit(*op, c10::toString(name));
  }
}

inline bool takes_tensor(const c10::FunctionSchema& schema) {
  for (const c10::Argument& argument : schema.arguments()) {
    const std::string type = argument.type()->str();
    if (type.find("Tensor") != std::string::npos || type.find("Storage") != std::string::npos) return true;
  }
  return false;
}

inline bool takes_device(const c10::FunctionSchema& schema) {
  for (const c10::Argument& argument : schema.arguments()) {
    if (argument.name() == "device") return true;
  }
  return false;
}

/// A library that registers kernels of `space` for `key`, until it is destroyed.
inline std::unique_ptr<torch::Library> library_for(const char* space, c10::DispatchKey key) {
  return std::make_unique<torch::Library>(torch::Library::IMPL, space, key, __FILE__,
                                          static_cast<std::uint32_t>(__LINE__));
}

/// Registers a boxed kernel object of its own for the operator.
template <typename Kernel, typename... Arguments>
void put_kernel(torch::Library& library, const c10::OperatorHandle& op, const std::string& name,
                Arguments... arguments) {
  library.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(op, arguments...)));
}

/// While it lives, the dispatcher does not warn of kernels that are overridden (in a CUDA build every factory is): that
/// is meant here, and no news to the user.
class QuietRegistration {
 public:
  QuietRegistration() : guard_(&handler_) {}

 private:
  class Silence final : public c10::WarningHandler {
    void process(const c10::Warning& /*warning*/) override {}
  };
  Silence handler_;
  c10::WarningUtils::WarningHandlerGuard guard_;
};

}  // namespace devsan::intercept
