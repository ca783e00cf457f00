#pragma once

#include <initializer_list>
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

/// TensorIterator's check (aten/src/ATen/TensorIterator.cpp, compute_types): the common device is that of the first
/// operand, outputs first, that is not on the CPU.
/// @param host_scalars how many 0-dim CPU inputs may stay where they are (TensorIteratorConfig::allow_cpu_scalars)
void check_tensor_iterator(const Operands& operands, int host_scalars = 1);

/// TensorIterator's checks of sizes, which come before that of devices: operands that do not broadcast, and an operand
/// written in place that is smaller than the result. For elementwise operators.
void check_sizes(const Operands& operands);

/// An operand's argument, and its name in the kernel that a composite calls.
struct Renamed {
  std::string_view argument;
  const char* as;
};

/// The check that torchgen writes into the wrapper `method`, for a kernel that the operator calls on CUDA.
void check_generated_for(const Operands& operands, const char* method, std::initializer_list<Renamed> arguments);

/// The tensor of that argument, which the call has.
inline const at::Tensor& tensor(const Operands& operands, std::string_view argument) {
  return *find(operands, argument)->tensor;
}

}  // namespace devsan::guard
