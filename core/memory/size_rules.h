#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

/// The sizes and roundings of torch's CUDA caching allocator (c10/core/AllocatorConfig.h and
/// c10/cuda/CUDACachingAllocator.cpp: round_size, get_allocation_size). All of them are bytes.
namespace devsan::memory {

inline constexpr std::size_t kMebibyte = std::size_t{1} << 20;

/// Every block is a multiple of this.
inline constexpr std::size_t kMinBlockSize = 512;
/// The largest request that is served from the small pool.
inline constexpr std::size_t kSmallSize = 1 * kMebibyte;
/// Small requests are packed into segments of this size.
inline constexpr std::size_t kSmallBuffer = 2 * kMebibyte;
/// Requests above kSmallSize and below kMinLargeAlloc share segments of this size.
inline constexpr std::size_t kLargeBuffer = 20 * kMebibyte;
/// From here on a request gets a segment of its own size.
inline constexpr std::size_t kMinLargeAlloc = 10 * kMebibyte;
/// The granularity of such a segment, and of the device's own pages.
inline constexpr std::size_t kRoundLarge = 2 * kMebibyte;
/// torch refuses to try a request of this size or more.
inline constexpr std::size_t kOneExabyte = std::size_t{1} << 60;

constexpr std::size_t round_up(std::size_t size, std::size_t multiple) noexcept {
  return multiple * ((size + multiple - 1) / multiple);
}

/// Rounds `size` up to the next of `divisions` equal steps between the two powers of two around it:
/// with 4 divisions 1200 becomes 1280 (the steps are 1024, 1280, 1536, 1792).
/// @param divisions a power of two, at least 2
constexpr std::size_t round_to_power2_division(std::size_t size, std::size_t divisions) noexcept {
  if (std::has_single_bit(size)) {
    return size;
  }
  const std::size_t floor = std::bit_floor(size);
  const std::size_t step = floor >> std::countr_zero(std::bit_floor(divisions));
  if (step == 0) {
    return floor << 1;
  }
  const std::size_t below = size & ~(step - 1);
  return below == size ? size : below + step;
}

/// The size of the block that serves a request.
/// @param divisions the setting roundup_power2_divisions for this size; 0 or 1 turns it off
constexpr std::size_t block_size_for(std::size_t requested, std::size_t divisions) noexcept {
  if (requested < kMinBlockSize) {
    return kMinBlockSize;
  }
  if (divisions > 1 && requested > kMinBlockSize * divisions) {
    return round_to_power2_division(requested, divisions);
  }
  return round_up(requested, kMinBlockSize);
}

/// The size of the segment that is asked of the device when no cached block fits.
/// @param large_segment the setting large_segment_size_mb, in bytes
constexpr std::size_t segment_size_for(std::size_t block_size, std::size_t large_segment) noexcept {
  if (block_size <= kSmallSize) {
    return kSmallBuffer;
  }
  if (block_size < kMinLargeAlloc) {
    return large_segment;
  }
  return round_up(block_size, kRoundLarge);
}

}  // namespace devsan::memory
