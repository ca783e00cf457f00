#pragma once

#include <optional>

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// An object that holds the batch has moved the rest of what it holds, by a method of its own, and passed this by.
std::optional<Hypothesis> passed_by(const Context& context, const model::Operand& operand,
                                    const model::Operand& partner);

/// What a hook of torch's computes before each forward is a plain attribute: a move of the module leaves it where it was,
/// until the next forward.
std::optional<Hypothesis> recomputed(const Context& context, const model::Operand& operand,
                                     const model::Operand& partner);

}  // namespace devsan::diagnose
