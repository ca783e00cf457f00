#pragma once

#include <cstddef>

#include "model/device_spec.h"

namespace devsan::emulate {

/// What cub::DeviceRadixSort takes to sort `count` keys of `key` bytes, each with a value of `value` bytes (0 for none),
/// without writing its operands (cub/device/dispatch/dispatch_radix_sort.cuh of CCCL 3.0): a second buffer of each, and a
/// table for each pass over eight bits, of which each block of threads has a row.
/// @param bits of a key that are looked at
[[nodiscard]] std::size_t radix_sort_buffers(const model::DeviceSpec& gpu, std::size_t count, std::size_t key,
                                             std::size_t value, std::size_t bits);

/// The same for all bits of a key.
[[nodiscard]] inline std::size_t radix_sort_buffers(const model::DeviceSpec& gpu, std::size_t count, std::size_t key,
                                                    std::size_t value) {
  constexpr std::size_t kByte = 8;
  return radix_sort_buffers(gpu, count, key, value, kByte * key);
}

}  // namespace devsan::emulate
