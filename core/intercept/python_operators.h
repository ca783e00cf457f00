#pragma once

#include <memory>
#include <string>

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

namespace devsan::intercept {

// NOTE [Operators with kernels in Python]
// A kernel that a program writes in Python for "cuda" (torch.library) is one of torch operators, which run here as they
// are; torch, however, looks for it on the CUDA key, which no emulated tensor has. So each such operator gets a kernel on
// the key of emulated tensors that goes on to CUDA's. Where the program has written one for "cpu" alone, that is all
// there is on any machine, and a GPU refuses the call. An operator of a compiled library is another matter: its CUDA
// kernel cannot run here and its CPU kernel takes its place (call_any_operator).

/// While it lives, calls of an operator on emulated tensors go on to its kernel for `key`: CUDA or AutogradCUDA.
class FollowedKernel {
 public:
  /// @param name as in "library::operator.overload"
  /// @throws c10::Error for another key, or a name without a namespace
  FollowedKernel(const std::string& name, c10::DispatchKey key);

 private:
  std::unique_ptr<torch::Library> library_;
};

/// The words of torch for an operator without a kernel for CUDA (c10::impl::OperatorEntry::reportError), up to the list
/// of backends. A kernel: it takes the place of one.
void refuse_cpu_only(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

}  // namespace devsan::intercept
