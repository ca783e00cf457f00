#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "memory/block.h"

namespace devsan::memory {

/// What happened, with torch's meanings (c10::CachingDeviceAllocator::TraceEntry::Action).
enum class TraceAction {
  kAlloc,
  kFreeRequested,
  kFreeCompleted,
  kSegmentAlloc,
  kSegmentFree,
  kSegmentMap,
  kSegmentUnmap,
  kSnapshot,
  kOutOfMemory,
};

/// The key torch uses in the device_traces of a snapshot: "alloc", "free_requested", ... "oom".
[[nodiscard]] std::string_view name(TraceAction action) noexcept;

struct TraceEvent {
  TraceAction action = TraceAction::kAlloc;
  Address address = 0;  ///< for kOutOfMemory: the free bytes of the device; for kSnapshot: 0
  std::size_t size = 0;
  StreamId stream = 0;
  StackId stack = 0;
  std::int64_t time_us = 0;  ///< since 1970
};

/// The last events of one device, oldest dropped first. Not thread-safe: the allocator's lock covers it.
class Trace {
 public:
  /// Starts (or goes on) recording at most `max_entries` events, at least one; or stops and forgets.
  void record(bool enabled, std::size_t max_entries);

  [[nodiscard]] bool is_enabled() const noexcept { return enabled_; }

  /// Notes an event at the present time. Does nothing while recording is off.
  void add(TraceEvent event);

  /// Oldest first.
  [[nodiscard]] std::vector<TraceEvent> events() const;

 private:
  bool enabled_ = false;
  std::size_t max_entries_ = 1;
  std::size_t oldest_ = 0;  ///< where the next event goes once the ring is full
  std::vector<TraceEvent> ring_;
};

}  // namespace devsan::memory
