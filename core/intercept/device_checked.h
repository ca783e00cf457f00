#pragma once

#include <memory>

#include "intercept/arguments.h"
#include "intercept/device_check.h"

namespace devsan::intercept {

/// Whether the installed torch has that operator.
inline bool has_operator(const char* name, const char* overload) {
  return c10::Dispatcher::singleton().findSchema({name, overload}).has_value();
}

/// A function that carries out an operator by hand, with the operator's check of devices before it.
template <typename Return, typename... Arguments>
auto device_checked(const char* name, const char* overload, Return (*carry_out)(Arguments...)) {
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
  return [check = std::make_shared<const DeviceCheck>(op), carry_out](Arguments... arguments) -> Return {
    (*check)(placement_of(arguments...), [&] { return torch::jit::Stack{c10::IValue(arguments)...}; });
    return carry_out(arguments...);
  };
}

}  // namespace devsan::intercept
