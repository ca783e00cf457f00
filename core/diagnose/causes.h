#pragma once

#include <optional>
#include <span>

#include "diagnose/codes.h"
#include "diagnose/hypothesis.h"
#include "diagnose/scene.h"

namespace devsan::diagnose {

/// What one cause makes of the facts: none where it sees none of its signs.
using Cause = std::optional<Hypothesis> (*)(const Scene&);

// One file of causes/ each, in the order of the codes: see NOTE [Generated from the manifests].
#define DEVSAN_CAUSE(name) std::optional<Hypothesis> name(const Scene& scene);
#include "diagnose/causes.inc"
#undef DEVSAN_CAUSE

/// All of them: the registry.
std::span<const Cause> causes();

}  // namespace devsan::diagnose
