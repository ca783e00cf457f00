#pragma once

#include <optional>

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// The model is on the host as a whole, and what it is given is not.
std::optional<Hypothesis> unmoved_model(const Context& context);

}  // namespace devsan::diagnose
