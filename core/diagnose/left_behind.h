#pragma once

#include <optional>

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// A parameter of a module that holds other modules stayed where the whole was moved, and one of these was moved on.
std::optional<Hypothesis> left_behind(const Context& context);

}  // namespace devsan::diagnose
