#include "emulate/calls/scan_table.h"

#include <algorithm>
#include <cstdint>

#include <ATen/ceil_div.h>

namespace devsan::emulate {
namespace {

constexpr std::size_t kWarp = 32;

/// cub/agent/single_pass_scan_operators.cuh, ScanTileState: a state and a value of a type that CUDA has are one word; of
/// other types there are two values beside the state.
std::size_t bytes_of_tile(std::size_t size, c10::ScalarType type) {
  const bool is_word = !c10::isComplexType(type) && !c10::isReducedFloatingType(type);
  return is_word ? std::max(sizeof(std::int32_t), 2 * size) : sizeof(std::int32_t) + 2 * size;
}

}  // namespace

std::size_t scan_table(std::size_t count, c10::ScalarType type) {
  constexpr std::size_t kThreads = 128;
  constexpr std::size_t kItems = 15;
  constexpr std::size_t kNominal = 4;
  const std::size_t size = c10::elementSize(type);
  // cub/util_arch.cuh, MemBoundScaling: of smaller numbers at most twice as many.
  const std::size_t items = std::clamp(kItems * kNominal / size, std::size_t{1}, 2 * kItems);
  constexpr std::size_t kAlignment = 256;  // cub/util_temporary_storage.cuh, AliasTemporaries
  const std::size_t tiles = at::ceil_div(count, kThreads * items) + kWarp;
  return at::round_up(tiles * bytes_of_tile(size, type), kAlignment) + kAlignment - 1;
}

}  // namespace devsan::emulate
