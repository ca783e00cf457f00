#pragma once

#include <string>

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

namespace devsan::emulate {

/// The argument of that name, at the end of the stack; null where the operator has none.
const c10::IValue* argument_of(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments, const char* name);

/// The first index of a lookup that is out of range: "index 10 is out of bounds for dimension 0 with size 10", which is
/// how torch's other kernels say it. embedding, index_select and index_add (aten/src/ATen/native) do not always name theirs.
/// @param arguments the call's arguments at the end of this stack, on the CPU
/// @return "" where every index is in range, or the operator has no table and index
std::string index_out_of_range(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments);

}  // namespace devsan::emulate
