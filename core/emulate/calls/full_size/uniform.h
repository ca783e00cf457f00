#pragma once

#include <optional>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

namespace devsan::emulate {

// NOTE [What is so for every element]
// All elements of an untouched tensor stand in for the same number, so that what an operator asks of them has one answer for
// all: `x == x` is true, `isnan(x)` is not. The memory of a boolean result keeps it, and whoever asks that result (`any`,
// `all`, `logical_not`) is answered by it. The operator itself computes the answer, with operands of one element. Only operators that treat all elements
// alike are asked: those that torch tags as pointwise, and the two reductions.

/// What every element of the boolean result of `op` stands in for.
/// @param arguments CPU tensors among them
/// @return no value where operands have numbers, or stand in for nothing that is known
std::optional<bool> answer_of(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments);

}  // namespace devsan::emulate
