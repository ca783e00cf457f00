#pragma once

#include <cstddef>
#include <optional>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "emulate/calls/cpu_call.h"

namespace devsan::emulate {

// NOTE [CPU fallback]
// torch runs a recurrent network by cuDNN on CUDA, by oneDNN or by a composite of its own on the CPU; taken apart on a
// CUDA tensor it asks for fused cells that only CUDA has. Such an operator is carried out whole on CPU tensors, above
// autograd: its operands cross to the host by a differentiable function and its results come back by another, so that
// forward and backward are the CPU's to the last bit.

// NOTE [Numbers of a composite]
// The composite of a recurrent network draws what it drops out by `bernoulli_` and names no generator: the numbers would
// be those of the CPU's default one, which belongs to every thread of the program. So while it runs, its thread includes
// a dispatch key that torch keeps free, at which `bernoulli_` gets the generator of the device.

inline constexpr c10::DispatchKey kNumbersKey = c10::DispatchKey::TESTING_ONLY_GenericWrapper;

/// While it lives, the calling thread's composites draw their numbers from `generator`, of the CPU.
class CompositeNumbers {
 public:
  explicit CompositeNumbers(const at::Generator& generator);
  ~CompositeNumbers();
  CompositeNumbers(const CompositeNumbers&) = delete;
  CompositeNumbers& operator=(const CompositeNumbers&) = delete;

 private:
  const at::Generator* before_;
  at::Generator generator_;
  c10::impl::IncludeDispatchKeyGuard included_{kNumbersKey};
};

/// aten::bernoulli_.float at kNumbersKey.
at::Tensor& bernoulli_of_composite(c10::DispatchKeySet keys, at::Tensor& self, double p,
                                   std::optional<at::Generator> generator);

/// Carries out `op` on the host with autograd recording there; its arguments are at the end of `stack`. Numbers that it
/// draws come from the stream of `device`, memory that it takes is charged to `device`.
/// @param kernel bytes that CUDA has one kernel hold for all of `op` while it runs: they are charged instead
void call_cpu_fallback(const c10::OperatorHandle& op, const CallPlan& plan, torch::jit::Stack* stack,
                       c10::Device device, std::optional<std::size_t> kernel = std::nullopt);

}  // namespace devsan::emulate
