#pragma once

#include <optional>
#include <span>

#include "diagnose/codes.h"
#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// What one cause makes of the facts: none where it sees none of its signs.
using Cause = std::optional<Hypothesis> (*)(const Context&);

// One file of causes/ each, in the order of the codes: see NOTE [Generated from the manifests].
#define DEVSAN_CAUSE(name) std::optional<Hypothesis> name(const Context& context);
#include "diagnose/causes.inc"
#undef DEVSAN_CAUSE

/// All of them: the registry.
std::span<const Cause> causes();

}  // namespace devsan::diagnose
