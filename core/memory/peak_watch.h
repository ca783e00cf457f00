#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "memory/out_of_memory.h"

namespace devsan::memory {

/// What a device held when it held the most.
struct Peak {
  std::uint64_t allocated = 0;
  std::uint64_t reserved = 0;
  std::uint64_t process = 0;  ///< with the CUDA context
  std::uint64_t cause = 0;    ///< what the caller says of the allocation that led there; 0: nothing
  std::vector<TaggedBlock> held;
};

// NOTE [The moment of the peak]
// While somebody watches, an allocation that takes a device higher than before asks its caller for the cause, and the
// next free, before it frees, copies what is held. So there is one copy for each high point, not for each allocation.
// A device that goes on rising a little with each step would be copied at each: a high point counts when it is higher
// than the last by a thousandth part. Nobody watching costs a load of a flag for each allocation and each free.

/// The highest point of one device, while it is watched. Not thread-safe but for `asks`: the allocator's lock covers it.
class PeakWatch {
 public:
  /// Whether devices are watched, all of them.
  static void watch(bool wanted) noexcept { watched_.store(wanted, std::memory_order_relaxed); }
  static bool is_on() noexcept { return watched_.load(std::memory_order_relaxed); }

  /// Looks at what is allocated now, after an allocation.
  void rose(std::uint64_t allocated) noexcept {
    asks_.store(false, std::memory_order_relaxed);
    if (allocated <= highest_ + highest_ / kSteps) return;
    highest_ = allocated;
    cause_ = 0;
    is_due_ = true;
    asks_.store(true, std::memory_order_relaxed);
  }
  /// Whether the cause of the last allocation is to be told.
  bool asks() const noexcept { return asks_.load(std::memory_order_relaxed); }
  void tell(std::uint64_t cause) noexcept {
    asks_.store(false, std::memory_order_relaxed);
    cause_ = cause;
  }

  /// Whether what is held now is more than what was kept, and is to be kept.
  bool is_due() const noexcept { return is_due_; }
  void keep(Peak peak) {
    is_due_ = false;
    peak.cause = cause_;
    peak_ = std::make_shared<const Peak>(std::move(peak));
  }

  /// Null for a device that nothing was taken of while it was watched.
  std::shared_ptr<const Peak> peak() const noexcept { return peak_; }

 private:
  static constexpr std::uint64_t kSteps = 1024;
  static inline std::atomic<bool> watched_{false};

  std::uint64_t highest_ = 0;
  std::uint64_t cause_ = 0;
  bool is_due_ = false;
  std::atomic<bool> asks_{false};
  std::shared_ptr<const Peak> peak_;
};

}  // namespace devsan::memory
