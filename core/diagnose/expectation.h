#pragma once

#include <optional>

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// A statement made a tensor on another device than `devsan.expect` was told: what it was made of is there.
std::optional<Hypothesis> expectation(const Context& context);

}  // namespace devsan::diagnose
