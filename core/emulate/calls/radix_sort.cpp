#include "emulate/calls/radix_sort.h"

#include <algorithm>
#include <cstdint>

#include <ATen/ceil_div.h>

namespace devsan::emulate {
namespace {

/// How many keys one block of threads sorts (cub/device/dispatch/tuning/tuning_radix_sort.cuh, with offsets of 64 bits, as
/// torch counts): threads, and keys of four bytes for each of them.
struct Tile {
  std::size_t threads;
  std::size_t nominal;

  /// cub/util_arch.cuh, RegBoundScaling: fewer of what is larger.
  [[nodiscard]] std::size_t keys(std::size_t size) const {
    constexpr std::size_t kNominal = 4;
    return threads * std::max<std::size_t>(1, nominal * kNominal / std::max(kNominal, size));
  }
};

/// Policy900 and sm90_small_key_tuning. The policies of 10.x, which differ by type, are within a few KiB of it.
Tile tile_of_hopper(std::size_t key, std::size_t value) {
  if (key == 1) return value == 0 ? Tile{512, 19} : Tile{384, 18};
  if (key == 2) return value == 0 ? Tile{512, 19} : Tile{512, 23};
  const bool wide = value >= sizeof(std::int64_t);
  if (key == 4) return {384, value == 0 ? 18U : wide ? 29U : 17U};  // keys alone: of float; of whole numbers 19
  return {384, wide ? 24U : 30U};
}

/// Policy800.
Tile tile_of_ampere(std::size_t key, std::size_t value) { return {384, key == 4 && value != 0 ? 17U : 21U}; }

/// cub/util_temporary_storage.cuh, AliasTemporaries: each part of an allocation begins at a multiple of this.
constexpr std::size_t kAlignment = 256;

std::size_t aligned(std::size_t bytes) { return at::ceil_div(bytes, kAlignment) * kAlignment; }

}  // namespace

std::size_t radix_sort_buffers(const model::DeviceSpec& gpu, std::size_t count, std::size_t key, std::size_t value,
                               std::size_t bits) {
  constexpr int kAmpere = 8;
  constexpr int kHopper = 9;
  constexpr Tile kSingle{256, 19};
  constexpr std::size_t kDigitBits = 8;
  constexpr std::size_t kDigits = 1U << kDigitBits;
  if (count == 0) return 0;
  const std::size_t larger = std::max(key, value);
  if (count <= kSingle.keys(larger)) return 1;
  const std::size_t passes = at::ceil_div(bits, kDigitBits);
  const std::size_t buffers = passes > 1 ? aligned(count * key) + aligned(count * value) : 0;
  // Elsewhere a sort has a table of a few KiB for all its blocks, which fill the GPU once.
  const bool one_sweep = gpu.major >= kHopper || (gpu.major >= kAmpere && key >= sizeof(float));
  if (!one_sweep) return buffers;
  const Tile tile = gpu.major >= kHopper ? tile_of_hopper(key, value) : tile_of_ampere(key, value);
  const std::size_t blocks = at::ceil_div(count, tile.keys(larger));
  return buffers + aligned(passes * kDigits * sizeof(std::int64_t)) + aligned(blocks * kDigits * sizeof(std::int32_t)) +
         aligned(passes * sizeof(std::int32_t)) + kAlignment - 1;
}

}  // namespace devsan::emulate
