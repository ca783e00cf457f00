#pragma once

#include <pybind11/pybind11.h>

#include "model/message.h"

// model::Message is devsan.diagnostics.messages.Message in Python, a str with its id and arguments. A plain str, where
// one comes in, is words without an id.
namespace pybind11::detail {

template <>
struct type_caster<devsan::model::Message> {
  PYBIND11_TYPE_CASTER(devsan::model::Message, const_name("devsan.diagnostics.messages.Message"));

  bool load(handle source, bool) {
    if (!isinstance<str>(source)) return false;
    if (!hasattr(source, "arguments")) {
      value = devsan::model::Message(source.cast<std::string>());
      return true;
    }
    std::vector<devsan::model::Argument> arguments;
    for (const auto& [name, words] : source.attr("arguments").cast<dict>()) {
      arguments.push_back({name.cast<std::string>(), words.cast<devsan::model::Message>()});
    }
    value = devsan::model::Message::recorded(str(source).cast<std::string>(), source.attr("id").cast<std::string>(),
                                             source.attr("plural").cast<std::string>(), source.attr("n").cast<long>(),
                                             std::move(arguments));
    return true;
  }

  static handle cast(const devsan::model::Message& message, return_value_policy, handle) {
    dict arguments;
    for (const auto& [name, words] : message.arguments()) arguments[name.c_str()] = words;
    static const handle type = module_::import("devsan.diagnostics.messages").attr("Message").cast<object>().release();
    return type(message.text(), message.id(), arguments, message.plural(), message.n()).release();
  }
};

}  // namespace pybind11::detail
