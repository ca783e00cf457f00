#pragma once

#include <optional>

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// accelerate spread the model over GPUs by a map, and none of its modules has a hook any more.
std::optional<Hypothesis> hooks_removed(const Context& context);

}  // namespace devsan::diagnose
