#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

#include "memory/phase.h"
#include "record/placement.h"

namespace devsan::record {

// NOTE [What a run file holds of time]
// Placements say who moved tensors, and how often; when they did so is kept only while somebody writes it down (the
// writer of a run file, once a second). Then every move adds one entry here, and every placement may add a look at the
// memory of its GPU. Both lists are bounded: what nobody fetched in time is dropped, the oldest first, and counted. The
// moves of one place without a pause between them are one entry, as a model's weights are when it goes to a GPU, also
// where a few places take turns, as the statements of a short loop do.

/// Moves of one placement without a pause. Times in nanoseconds of std::chrono::steady_clock.
struct Transfer {
  PlacementId placement = kUnknownPlacement;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::uint64_t times = 0;
  std::uint64_t bytes = 0;
};

/// What a GPU's allocator held at one time; bytes.
struct MemorySample {
  std::int64_t time = 0;
  std::int8_t device = kHost;
  std::int64_t allocated = 0;
  std::int64_t reserved = 0;
  memory::ByPhase held{};  ///< what of `allocated` was taken in which phase
};

/// When tensors were moved and how much memory was taken, since the last `drain`. There is one. Off until `start`; off
/// means that a move costs one load of a flag more. May be used from any thread.
class Timeline {
 public:
  struct Entries {
    std::vector<Transfer> transfers;  ///< in the order of their begins
    std::vector<MemorySample> samples;
    std::uint64_t lost = 0;  ///< moves that were dropped, because nobody came
  };

  static constexpr std::size_t kMaxTransfers = std::size_t{1} << 16;
  static constexpr std::size_t kMaxSamples = std::size_t{1} << 14;
  static constexpr std::int64_t kPause = 1'000'000;           ///< ns between two entries of one place
  static constexpr std::size_t kTogether = 8;                 ///< places that may take turns
  static constexpr std::int64_t kBetweenSamples = 1'000'000;  ///< ns between two looks at one GPU

  static Timeline& instance();

  bool is_on() const noexcept { return on_.load(std::memory_order_relaxed); }
  /// Forgets what was there before.
  void start();
  void stop() noexcept { on_.store(false, std::memory_order_relaxed); }

  /// Notes a move that happens now. Does nothing while off, and for kUnknownPlacement.
  void add_transfer(PlacementId placement, std::uint64_t bytes);

  /// Whether the last look at the memory of GPU `device` is long enough ago; then the caller is to look. Never while off.
  bool wants_sample(std::int8_t device) noexcept;
  /// Notes a look at a GPU that happens now; its `time` is filled in.
  void add_sample(MemorySample sample);

  /// Returns what was noted since the last call, and forgets it.
  Entries drain();

  /// Adds the placements of what nobody has fetched yet.
  void collect(std::vector<PlacementId>& live) const;

  /// For pthread_atfork: the child must not inherit the lock taken.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  static constexpr std::size_t kDevices = std::numeric_limits<std::int8_t>::max() + std::size_t{1};

  std::atomic<bool> on_{false};
  std::array<std::atomic<std::int64_t>, kDevices> sampled_{};
  mutable std::mutex mutex_;
  std::vector<Transfer> transfers_;  ///< a ring once it is full: the oldest at next_transfer_
  std::size_t next_transfer_ = 0;
  std::vector<MemorySample> samples_;
  std::size_t next_sample_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace devsan::record
