#pragma once

#include <string>
#include <string_view>

#include <ATen/core/dispatch/Dispatcher.h>

namespace devsan::intercept {

// Which operators are not served by the general kernel, by full name ("aten::add.Tensor"). Everything else is found by
// asking the dispatcher what has a CPU kernel.

/// A factory with a kernel of its own on the CUDA key: see emulate/operators/factories.h.
bool is_made_by_hand(const std::string& name);

// NOTE [Operators taken whole]
// Some operators are composites that look at `is_cuda()` and then choose a kernel that only CUDA has (cuDNN, depthwise
// convolution, fused dropout, flash attention). Taken apart they could not run; taken whole, on host aliases, they make
// the choice that they make for CPU tensors, and the numbers are the CPU's to the last bit.

/// A composite without a CPU kernel that is nevertheless taken whole. See NOTE [Operators taken whole].
bool is_taken_whole(const std::string& name);

/// A recurrent network or cell. See NOTE [CPU fallback].
bool is_recurrent(const std::string& name);

/// torch has it for CPU tensors and not for CUDA ones: a program that calls it fails on a GPU, so it fails here.
bool is_cpu_only(const std::string& name);

/// torch has no kernel of it for strided CUDA tensors, and no composite.
bool is_missing_on_cuda(const c10::OperatorHandle& op, const std::string& name);

/// Whether the operator belongs to a library that torch has for the CPU: oneDNN, XNNPACK, or the quantized layers of
/// FBGEMM, whose few kernels on CUDA are cuDNN's, for quantized tensors, and those of packed tables.
/// @param name without the overload
bool is_of_host_library(std::string_view name);

/// It has a kernel of its own for quantized tensors: see register_cuda_only_layout.
bool is_written_for_quantized(const std::string& name);

/// CUDA has it for quantized tensors (a QuantizedCUDA kernel in native_functions.yaml).
bool is_quantized_on_cuda(const std::string& name);

}  // namespace devsan::intercept
