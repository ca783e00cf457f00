#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "emulate/calls/host_tensors.h"
#include "emulate/runtime/host_allocator.h"

namespace devsan::emulate {

// NOTE [What is refused before it is computed]
// A result that the GPU has no room for is refused when the CPU kernel asks for its memory, before the host's is touched.
// Then it must be known whether the kernel asks for a result or for something that CUDA's kernel would not need. That is
// asked only for large memory that may not fit, and answered by the operator's Meta kernel: what has the size of a result
// is one. Where there is no Meta kernel, or it cannot be called here, everything is taken for a result.

/// The results of a call by the operator's Meta kernel, worked out when they are first asked for.
class ResultsOfMeta : public ExpectedResults {
 public:
  bool take(size_t bytes) final;

 protected:
  explicit ResultsOfMeta(const c10::OperatorHandle& op) : op_(op) {}
  ~ResultsOfMeta() = default;

  /// The call's arguments, on whatever device; empty where they are not known.
  virtual torch::jit::Stack arguments() const = 0;

 private:
  void find();

  const c10::OperatorHandle& op_;
  bool is_found_ = false;
  bool is_known_ = false;
  std::vector<size_t> sizes_;
};

/// The results of a boxed call, whose kernel takes the arguments off the stack.
class ResultsOfStack final : public ResultsOfMeta {
 public:
  /// @param first the arguments. They are copied if a tensor is so large that the copy costs nothing beside the kernel.
  ResultsOfStack(const c10::OperatorHandle& op, const HostTensors& tensors, const c10::IValue* first, std::size_t count)
      : ResultsOfMeta(op) {
    if (C10_UNLIKELY(tensors.any_large())) arguments_.assign(first, first + count);
  }

 protected:
  torch::jit::Stack arguments() const override { return arguments_; }

 private:
  torch::jit::Stack arguments_;
};

/// The results of an unboxed call, whose arguments stay where they are.
template <typename Boxed>
class ResultsOfCall final : public ResultsOfMeta {
 public:
  /// @param boxed gives the arguments as a stack
  ResultsOfCall(const c10::OperatorHandle& op, Boxed boxed) : ResultsOfMeta(op), boxed_(std::move(boxed)) {}

 protected:
  torch::jit::Stack arguments() const override { return boxed_(); }

 private:
  Boxed boxed_;
};

}  // namespace devsan::emulate
