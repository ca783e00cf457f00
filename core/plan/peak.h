#pragma once

#include <span>

#include "plan/problem.h"

namespace devsan::plan {

/// The most bytes that a GPU holds at one moment of a step, with these blocks of the problem.
///
/// @param blocks their ordinals, ascending.
std::int64_t peak_of(const Problem& problem, std::span<const int> blocks);

/// The bytes that these blocks take from blocks that are not among them, in one pass.
///
/// @param blocks their ordinals, ascending.
/// @param with_inputs whether they stand with the inputs, and so with the outputs, on the first GPU.
std::int64_t received_by(const Problem& problem, std::span<const int> blocks, bool with_inputs);

}  // namespace devsan::plan
