#pragma once

#include <optional>

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// The program has given a weight of an adapter a tensor on the CPU: `parameter.data = saved[name]`. PEFT had put the
/// weight where the one that it adapts is.
std::optional<Hypothesis> replaced_adapter(const Context& context);

}  // namespace devsan::diagnose
