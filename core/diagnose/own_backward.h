#pragma once

#include <optional>

#include "diagnose/context.h"
#include "diagnose/hypothesis.h"

namespace devsan::diagnose {

/// What a backward of the program's own (torch.autograd.Function) leaves on another GPU: the gradient that it returns, or what
/// forward kept for it.
std::optional<Hypothesis> own_backward(const Context& context);

}  // namespace devsan::diagnose
