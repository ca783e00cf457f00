#pragma once

#include <optional>

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// A statement replaced what an object keeps by itself on another GPU (`self.prio = self.prio.to(fresh)`), and what the
/// object keeps beside it, where it was made, is now met by it or by what was computed from it.
std::optional<Hypothesis> carried_state(const Context& context);

}  // namespace devsan::diagnose
