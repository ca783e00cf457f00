#pragma once

#include "diagnose/context.h"

namespace devsan::diagnose {

/// The move by which a forward pass that still runs took `moved` on from the GPU of one stage, where `stayed` still is, to
/// that of the next: `x = x.to(self.second)`. Null where it did not.
const model::Event* handed_on(const Context& context, const model::Operand& moved, const model::Operand& stayed);

/// The move by which the function that failed took `moved` from the GPU where `stayed` is to that of a third tensor:
/// `labels = labels.to(logits.device)`, and not the anchors; or by which a function that has returned gave back one of two
/// results elsewhere. Null where there is none.
const model::Event* moved_without(const Context& context, const model::Operand& moved, const model::Operand& stayed);

/// Whether the function that made the move has come to its end: it is not on the failing stack.
bool is_of_returned_call(const Context& context, const model::Event& move);

}  // namespace devsan::diagnose
