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

/// The placement with the fewest bytes between GPUs; of several, the one whose fullest GPU is the emptiest, as a share
/// of its budget. None where nothing fits.
///
/// It is the best of all placements in which the first GPU has the first blocks, the pinned ones and, if that pays, the
/// last ones, and every other GPU a row of consecutive blocks, in any order of GPUs.
std::optional<Placement> fewest_bytes(const Problem& problem);

/// How many times the fewest bytes a placement may transfer for emptier GPUs: a map that fills a GPU to the last MiB
/// fails at the first longer sentence.
inline constexpr double kMoreBytes = 1.25;

/// How exactly `solve` knows the smallest share.
inline constexpr double kShareStep = 1.0 / 1024;

/// Of the placements that transfer at most `kMoreBytes` times the fewest bytes, the one whose fullest GPU is the
/// emptiest, and of those, to `kShareStep`, the one with the fewest bytes. None where nothing fits.
std::optional<Placement> solve(const Problem& problem);

}  // namespace devsan::plan
