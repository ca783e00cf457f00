#include "guard/operands.h"

namespace devsan::guard {

std::string OperandRef::name() const {
  return place < 0 ? std::string(argument) : std::string(argument) + "[" + std::to_string(place) + "]";
}

Operands operands_of(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments) {
  Operands operands;
  const auto& declared = schema.arguments();
  const auto* value = arguments.data() + (arguments.size() - declared.size());
  for (const c10::Argument& argument : declared) {
    const auto* alias = argument.alias_info();
    const bool written = alias != nullptr && alias->isWrite();
    const bool out = written && argument.is_out();
    const auto add = [&](const c10::IValue& item, int place) {
      if (item.isTensor() && item.toTensor().defined()) {
        operands.push_back({&item.toTensor(), argument.name(), place, out, written, argument.kwarg_only()});
      }
    };
    if (value->isTensor()) {
      add(*value, -1);
    } else if (value->isList()) {
      int place = 0;
      for (const c10::IValue& item : value->toListRef()) add(item, place++);
    }
    ++value;
  }
  return operands;
}

const OperandRef* find(const Operands& operands, std::string_view argument) {
  for (const OperandRef& operand : operands) {
    if (operand.argument == argument) return &operand;
  }
  return nullptr;
}

const c10::IValue* value_of(const Call& call, std::string_view argument) {
  const auto& declared = call.schema.arguments();
  const c10::IValue* value = call.arguments.data() + (call.arguments.size() - declared.size());
  for (const c10::Argument& candidate : declared) {
    if (candidate.name() == argument) return value;
    ++value;
  }
  return nullptr;
}

}  // namespace devsan::guard
