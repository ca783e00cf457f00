#pragma once

#include "diagnose/context.h"

namespace devsan::diagnose {

// Whether the failing operation joins results: a loss, a sum of losses, a list of norms.

/// A loss, or an operation whose work is to combine results: the labels' side meets the logits' side.
bool is_loss_boundary(const Context& context);

/// A number to which the failing operation adds: `total += loss`.
bool is_running_total(const Context& context, const model::Operand& operand);

/// A number that a module of one part of the model has left in an attribute, for a sum of losses.
bool is_loss_of_part(const Context& context, const model::Operand& operand);

/// Whether the operation combines a list that has elements on several devices: stack, cat, the norms of gradients.
bool combines_a_list(const Context& context);

/// Whether it combines numbers or vectors, as losses, norms, counts and metrics are.
bool combines_results(const Context& context);

}  // namespace devsan::diagnose
