#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// Where the blocks of a model go: facts about them in, GPUs out. What is measured, and how, Python knows
/// (devsan/blocks/meter.py). All sizes are bytes.
namespace devsan::plan {

/// A part of the model that stays in one piece. Blocks are listed in the order in which they first run.
struct Block {
  /// Held all the time: parameters, buffers, optimizer state.
  std::int64_t held = 0;
  std::int64_t gradients = 0;
  /// What its forward pass leaves until the backward pass, or until the end where there is none (a KV cache).
  std::int64_t activations = 0;
  /// What the passes take for a moment: above what is there behind the forward, and before the backward.
  std::int64_t forward_extra = 0;
  std::int64_t backward_extra = 0;
  /// What the optimizer takes for a moment, beside its state.
  std::int64_t step_extra = 0;
  /// Stays with the inputs, on the first GPU, whatever stands beside it.
  bool is_pinned = false;
};

/// Tensors that one block makes and another takes in one pass over the model.
struct Edge {
  /// Ordinal of the block that makes them; kInputs for what the program brings.
  int from = 0;
  /// Ordinal of the block that takes them; the number of blocks for what the program gets.
  int to = 0;
  std::int64_t bytes = 0;
};

inline constexpr int kInputs = -1;

struct Problem {
  std::vector<Block> blocks;
  std::vector<Edge> edges;
  /// Of each GPU. The inputs are on the first, and the outputs return there.
  std::vector<std::int64_t> budgets;
  /// Whether there is a backward pass.
  bool trains = false;
  /// Whether gradients are there during the forward pass: they are summed over several, or zeroed in place.
  bool keeps_gradients = false;
};

}  // namespace devsan::plan
