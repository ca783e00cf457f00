#pragma once

#include <optional>

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// What was computed from a plain attribute of a module: `scale` of `self.amax.clamp(min=1e-6)`, where `self.amax` was made
/// in the constructor and is no buffer. The attribute stayed on the CPU when the module was moved.
std::optional<Hypothesis> from_attribute(const Context& context, const model::Operand& operand,
                                         const model::Operand& partner);

}  // namespace devsan::diagnose
