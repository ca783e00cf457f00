#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

namespace devsan::guard {

/// A defined tensor among a call's arguments. Points into the call's stack.
struct OperandRef {
  const at::Tensor* tensor;
  std::string_view argument;  ///< as the schema names it; ends with a zero
  int place;                  ///< in a list, -1 for an operand that is in none
  bool is_out;                ///< an out= operand
  bool is_written;            ///< out= or in-place
  bool is_keyword;            ///< can be given by name only

  /// The argument, with its place for an element of a list: "tensors[2]".
  std::string name() const;
};

using Operands = std::vector<OperandRef>;

/// The tensors of a call, in the order of its schema. `arguments` must outlive the result.
Operands operands_of(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments);

/// The operand of that name, or null; the first one of a list.
const OperandRef* find(const Operands& operands, std::string_view argument);

/// A call to check. Its parts must outlive it.
struct Call {
  const c10::FunctionSchema& schema;
  const torch::jit::Stack& arguments;  ///< at the end of this stack
  Operands operands;
};

/// The argument of that name, or null where the schema has none.
const c10::IValue* value_of(const Call& call, std::string_view argument);

}  // namespace devsan::guard
