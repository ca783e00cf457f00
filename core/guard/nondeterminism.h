#pragma once

#include <string>

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

namespace devsan::guard {

/// A CUDA kernel whose result may differ from run to run: under `torch.use_deterministic_algorithms(True)` it raises,
/// or warns, by at::Context::alertNotDeterministic. CPU kernels of the same operators do neither.
struct Nondeterminism {
  /// What the kernel calls itself in the sentence.
  const char* caller;
  /// Whether a call with the arguments at the end of the stack is one of those; null: every call is.
  bool (*applies)(const c10::FunctionSchema& schema, const torch::jit::Stack& stack);
};

/// What CUDA's kernel of the operator called `name` ("aten::histc") says; null if it is deterministic, or has a
/// deterministic way of its own that it takes then.
const Nondeterminism* nondeterminism_of(const std::string& name);

}  // namespace devsan::guard
