#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "memory/phase.h"

namespace devsan::memory {

/// One counted quantity: what is held now, the most that was held, and all that ever came and went.
struct Stat {
  std::int64_t current = 0;
  std::int64_t peak = 0;
  std::int64_t allocated = 0;
  std::int64_t freed = 0;

  void increase(std::int64_t amount) noexcept {
    current += amount;
    if (current > peak) {
      peak = current;
    }
    allocated += amount;
  }

  void decrease(std::int64_t amount) noexcept {
    current -= amount;
    freed += amount;
  }

  void reset_peak() noexcept { peak = current; }

  void reset_accumulated() noexcept {
    allocated = 0;
    freed = 0;
  }
};

/// The names torch gives to the members of a StatArray, in order.
inline constexpr std::array<const char*, 3> kStatPoolNames = {"all", "small_pool", "large_pool"};

/// A quantity in total and per pool. Sizes are converted once, here, so that callers can stay with size_t.
struct StatArray {
  std::array<Stat, 3> by_pool{};

  [[nodiscard]] const Stat& all() const noexcept { return by_pool[0]; }
  [[nodiscard]] const Stat& small_pool() const noexcept { return by_pool[1]; }
  [[nodiscard]] const Stat& large_pool() const noexcept { return by_pool[2]; }

  void increase(bool small, std::size_t amount) noexcept {
    by_pool[0].increase(static_cast<std::int64_t>(amount));
    by_pool[small ? 1 : 2].increase(static_cast<std::int64_t>(amount));
  }

  void decrease(bool small, std::size_t amount) noexcept {
    by_pool[0].decrease(static_cast<std::int64_t>(amount));
    by_pool[small ? 1 : 2].decrease(static_cast<std::int64_t>(amount));
  }
};

/// What torch.cuda.memory_stats is made of (c10::CachingDeviceAllocator::DeviceStats, torch 2.13).
struct Stats {
  StatArray allocation;            ///< count: requests that are held by the program
  StatArray segment;               ///< count: segments taken from the device
  StatArray active;                ///< count: blocks held by the program or still used by a stream
  StatArray inactive_split;        ///< count: free blocks that share their segment
  StatArray allocated_bytes;       ///< bytes of blocks held by the program
  StatArray reserved_bytes;        ///< bytes taken from the device, in use or cached
  StatArray active_bytes;          ///< bytes of active blocks
  StatArray inactive_split_bytes;  ///< bytes of inactive split blocks
  StatArray requested_bytes;       ///< bytes the program asked for, before rounding

  ByPhase held_by_phase{};  ///< allocated_bytes, by the phase that took them

  Stat oversize_allocations;  ///< count: held blocks of at least max_split_size
  Stat oversize_segments;     ///< count: segments of at least max_split_size

  std::int64_t num_alloc_retries = 0;     ///< failed requests to the device that emptied the cache
  std::int64_t num_ooms = 0;              ///< requests that failed even so
  std::int64_t num_sync_all_streams = 0;  ///< times all streams were waited for
  std::int64_t num_device_alloc = 0;      ///< calls for device memory
  std::int64_t num_device_free = 0;       ///< calls that gave device memory back
  std::int64_t num_oom_rejections = 0;    ///< always 0: throw_on_cudamalloc_oom is not emulated
  std::int64_t max_split_size = 0;        ///< the setting, in bytes
};

/// Calls `visit(name, array)` for every StatArray, with the key that torch._C._cuda_memoryStats uses.
/// `StatsType` is Stats or const Stats.
template <typename StatsType, typename Visit>
void for_each_array(StatsType& stats, Visit visit) {
  visit("allocation", stats.allocation);
  visit("segment", stats.segment);
  visit("active", stats.active);
  visit("inactive_split", stats.inactive_split);
  visit("allocated_bytes", stats.allocated_bytes);
  visit("reserved_bytes", stats.reserved_bytes);
  visit("active_bytes", stats.active_bytes);
  visit("inactive_split_bytes", stats.inactive_split_bytes);
  visit("requested_bytes", stats.requested_bytes);
}

/// Calls `visit(name, stat)` for every Stat that is not kept per pool.
template <typename StatsType, typename Visit>
void for_each_stat(StatsType& stats, Visit visit) {
  visit("oversize_allocations", stats.oversize_allocations);
  visit("oversize_segments", stats.oversize_segments);
}

/// Calls `visit(name, count)` for every plain counter.
template <typename StatsType, typename Visit>
void for_each_counter(StatsType& stats, Visit visit) {
  visit("num_alloc_retries", stats.num_alloc_retries);
  visit("num_ooms", stats.num_ooms);
  visit("num_sync_all_streams", stats.num_sync_all_streams);
  visit("num_device_alloc", stats.num_device_alloc);
  visit("num_device_free", stats.num_device_free);
  visit("num_oom_rejections", stats.num_oom_rejections);
  visit("max_split_size", stats.max_split_size);
}

}  // namespace devsan::memory
