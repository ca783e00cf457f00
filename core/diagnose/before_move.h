#pragma once

#include <optional>

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// The move that took the model, or the weight `partner`, from where `operand` is still: both had been put there by one
/// statement. Null where nothing says so.
const model::Event* moved_without_it(const Context& context, const model::Operand& operand,
                                     const model::Operand& partner);

/// The move of `weight` that came after `copy` was cloned from a weight like it, by a statement that reads a model's weights
/// (a snapshot, an anchor of a penalty). Null where nothing says so.
const model::Event* moved_after_snapshot(const model::Operand& copy, const model::Operand& weight);

/// A buffer that the model had before it was moved: Module.to replaces buffers, and someone has kept the old one.
std::optional<Hypothesis> buffer_from_before_move(const Context& context);

}  // namespace devsan::diagnose
