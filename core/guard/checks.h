#pragma once

#include <initializer_list>
#include <string_view>

#include "guard/operands.h"

namespace devsan::guard {

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
