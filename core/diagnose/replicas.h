#pragma once

#include <optional>

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

// What DataParallel's replicas use that is not a replica's own.

/// A replica of DataParallel's computes with a weight of the module that was copied: what the replicas share, such as a
/// bound method in an attribute, still leads to that module.
std::optional<Hypothesis> reached_original(const Context& context, const model::Operand& operand,
                                           const model::Operand& partner);

/// A replica of DataParallel's meets what neither its copy of the module nor its part of the batch has: every replica is
/// given the one that the module was left with. Of a replica's thread no frame is left to name it.
std::optional<Hypothesis> shared_by_replicas(const Context& context, const model::Operand& operand,
                                             const model::Operand& partner);

}  // namespace devsan::diagnose
