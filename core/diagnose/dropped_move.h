#pragma once

#include <optional>

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// Adds that the result of a move was thrown away, and the statement that keeps it. What is moved is the operand itself,
/// what it was computed from, or the object that holds it.
void tell_of_dropped(const model::Operand& operand, const model::Event& dropped, Hypothesis& found);

/// Between two GPUs, too, a tensor stays where it was if the result of its move is thrown away.
std::optional<Hypothesis> dropped_between_gpus(const Context& context);

}  // namespace devsan::diagnose
