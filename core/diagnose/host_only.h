#pragma once

#include <optional>

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

using HostOnly = std::optional<Hypothesis> (*)(const Context&);

/// The cause of a sentence about what takes tensors of one side alone: NumPy and arguments that are read on the host, a
/// forked process, NCCL. Null where the sentence is about other things.
HostOnly host_only(model::SentenceKind kind);

}  // namespace devsan::diagnose
