#pragma once

#include <optional>

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// Results of two parts of the model, each where the map put it, are joined by a hook or by code around the model.
std::optional<Hypothesis> joined_outside(const Context& context);

/// A result of a part of the model that the map has on another GPU is joined with one that was computed from the same
/// tensor where that is: features of several layers.
std::optional<Hypothesis> joined_with_earlier(const Context& context);

/// That accelerate's hook brought a result of the model back, by `back`.
model::Message brought_back_text(const model::Operand& operand, const model::Event& back);

}  // namespace devsan::diagnose
