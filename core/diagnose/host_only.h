#pragma once

#include <optional>

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// What takes tensors of one side alone: NumPy and arguments that are read on the host, a forked process, NCCL.
/// @return nothing where the sentence is about other things.
std::optional<Hypothesis> host_only(const Context& context);

/// Whether the sentence is about one of these.
bool is_host_only(const Context& context);

}  // namespace devsan::diagnose
