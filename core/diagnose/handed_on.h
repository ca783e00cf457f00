#pragma once

#include "diagnose/context.h"

namespace devsan::diagnose {

/// The move by which a forward pass that still runs took `moved` on from the GPU of one stage, where `stayed` still is, to
/// that of the next: `x = x.to(self.second)`. Null where it did not.
const model::Event* handed_on(const Context& context, const model::Operand& moved, const model::Operand& stayed);

}  // namespace devsan::diagnose
