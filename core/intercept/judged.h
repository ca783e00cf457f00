#pragma once

#include <memory>
#include <string>

#include <ATen/core/dispatch/Dispatcher.h>

#include "emulate/host_tensors.h"
#include "guard/verdict.h"

namespace devsan::intercept {

/// Whether the installed torch has that operator.
inline bool has_operator(const char* name, const char* overload) {
  return c10::Dispatcher::singleton().findSchema({name, overload}).has_value();
}

/// A function that carries out an operator by hand, with the operator's check of devices before it.
template <typename Return, typename... Arguments>
auto judged(const char* name, const char* overload, Return (*carry_out)(Arguments...)) {
  struct Judge {
    c10::OperatorHandle op;
    std::string name;
    guard::Verdict verdict;
  };
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
  auto judge = std::make_shared<Judge>(Judge{op, c10::toString(op.operator_name()), {}});
  judge->verdict = guard::verdict_of(judge->name);
  return [judge = std::move(judge), carry_out](Arguments... arguments) -> Return {
    emulate::Placement placement;
    const auto look_at = [&placement](const auto& argument) {
      if constexpr (std::is_same_v<std::decay_t<decltype(argument)>, at::Tensor>) {
        placement.look_at(argument, /*written=*/true);
      } else if constexpr (std::is_same_v<std::decay_t<decltype(argument)>, std::optional<at::Tensor>>) {
        if (argument.has_value()) placement.look_at(*argument, /*written=*/true);
      }
    };
    (look_at(arguments), ...);
    if (C10_UNLIKELY(placement.mixed || judge->verdict.always)) {
      guard::judge(judge->verdict, judge->op.schema(), torch::jit::Stack{c10::IValue(arguments)...});
    }
    return carry_out(arguments...);
  };
}

}  // namespace devsan::intercept
