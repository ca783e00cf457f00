#include "plan/peak.h"

#include <algorithm>
#include <ranges>

namespace devsan::plan {

std::int64_t peak_of(const Problem& problem, std::span<const int> blocks) {
  std::int64_t held = 0;
  std::int64_t gradients = 0;
  std::int64_t step_extra = 0;
  for (const int block : blocks) {
    const Block& each = problem.blocks[static_cast<std::size_t>(block)];
    held += each.held;
    gradients += each.gradients;
    step_extra += each.step_extra;
  }
  std::int64_t now = held + (problem.keeps_gradients ? gradients : 0);
  std::int64_t peak = std::max(now, held + gradients + step_extra);
  for (const int block : blocks) {
    const Block& each = problem.blocks[static_cast<std::size_t>(block)];
    now += each.activations;
    peak = std::max(peak, now + each.forward_extra);
  }
  if (!problem.trains) return peak;
  for (const int block : blocks | std::views::reverse) {
    const Block& each = problem.blocks[static_cast<std::size_t>(block)];
    peak = std::max(peak, now + each.backward_extra);
    now += (problem.keeps_gradients ? 0 : each.gradients) - each.activations;
  }
  return peak;
}

std::int64_t received_by(const Problem& problem, std::span<const int> blocks, bool with_inputs) {
  const int outputs = static_cast<int>(problem.blocks.size());
  const auto is_here = [&](int end) {
    if (end == kInputs || end == outputs) return with_inputs;
    return std::ranges::binary_search(blocks, end);
  };
  std::int64_t bytes = 0;
  for (const Edge& edge : problem.edges) {
    if (is_here(edge.to) && !is_here(edge.from)) bytes += edge.bytes;
  }
  return bytes;
}

}  // namespace devsan::plan
