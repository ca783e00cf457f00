#pragma once

#include <string_view>

#include "guard/operands.h"

namespace devsan::guard {

/// The checks that stand in a kernel's own source rather than in generated code, in that kernel's words.
/// @return true when the kernel has checks of its own and accepts the operands: nothing else is checked then.
bool check_kernel(std::string_view op, const Call& call);

/// TensorIterator's check (aten/src/ATen/TensorIterator.cpp, compute_types): the common device is that of the first
/// operand, outputs first, that is not on the CPU.
/// @param host_scalars how many 0-dim CPU inputs may stay where they are (TensorIteratorConfig::allow_cpu_scalars)
void check_tensor_iterator(const Operands& operands, int host_scalars = 1);

}  // namespace devsan::guard
