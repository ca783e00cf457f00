#pragma once

#include <string_view>

#include "guard/operands.h"

namespace devsan::guard {

/// The checks that stand in a kernel's own source rather than in generated code, in that kernel's words.
/// @return true when the kernel has checks of its own and accepts the operands: nothing else is checked then.
bool check_kernel(std::string_view op, const Operands& operands);

/// TensorIterator's check (aten/src/ATen/TensorIterator.cpp, compute_types): the common device is that of the first
/// operand, outputs first, that is not on the CPU; one 0-dim CPU input may stay where it is.
void check_tensor_iterator(const Operands& operands);

}  // namespace devsan::guard
