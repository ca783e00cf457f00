#pragma once

#include <optional>
#include <vector>

#include "plan/problem.h"

namespace devsan::plan {

struct Placement {
  /// By block, the ordinal of its GPU.
  std::vector<int> gpus;
  /// By GPU, the most bytes that it holds.
  std::vector<std::int64_t> peaks;
  /// Between GPUs, in one pass over the model, with the way of the outputs back to the inputs.
  std::int64_t transferred = 0;
};

/// The best placement; none where nothing fits.
///
/// Of all placements in which the first GPU has the first blocks, the pinned ones and, if that pays, the last ones, and
/// every other GPU a row of consecutive blocks, in any order of GPUs: those that fit their budgets, of these the one
/// with the fewest bytes between GPUs, of these the one whose fullest GPU is the emptiest, as a share of its budget.
std::optional<Placement> solve(const Problem& problem);

}  // namespace devsan::plan
