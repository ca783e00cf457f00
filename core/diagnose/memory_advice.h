#pragma once

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// Proposes what frees memory for the request that a GPU refused, what frees most first: likely where that is enough.
void advise(const Context& context, const model::HeldMemory& held, Hypothesis& found);

}  // namespace devsan::diagnose
