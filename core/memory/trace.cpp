#include "memory/trace.h"

#include <algorithm>
#include <chrono>

namespace devsan::memory {

std::string_view name(TraceAction action) noexcept {
  switch (action) {
    case TraceAction::kAlloc:
      return "alloc";
    case TraceAction::kFreeRequested:
      return "free_requested";
    case TraceAction::kFreeCompleted:
      return "free_completed";
    case TraceAction::kSegmentAlloc:
      return "segment_alloc";
    case TraceAction::kSegmentFree:
      return "segment_free";
    case TraceAction::kSegmentMap:
      return "segment_map";
    case TraceAction::kSegmentUnmap:
      return "segment_unmap";
    case TraceAction::kSnapshot:
      return "snapshot";
    case TraceAction::kOutOfMemory:
      break;
  }
  return "oom";
}

void Trace::record(bool enabled, std::size_t max_entries) {
  enabled_ = enabled;
  const std::size_t most = std::max<std::size_t>(1, max_entries);
  if (!enabled) {
    ring_.clear();
    oldest_ = 0;
  } else if (most != max_entries_) {
    // A ring of another size: put the events in order and keep the newest.
    std::vector<TraceEvent> kept = events();
    if (kept.size() > most) {
      kept.erase(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(most));
    }
    ring_ = std::move(kept);
    oldest_ = 0;
  }
  max_entries_ = most;
}

void Trace::add(TraceEvent event) {
  if (!enabled_) {
    return;
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  event.time_us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  if (ring_.size() < max_entries_) {
    ring_.push_back(event);
    return;
  }
  ring_[oldest_] = event;
  oldest_ = (oldest_ + 1) % max_entries_;
}

std::vector<TraceEvent> Trace::events() const {
  std::vector<TraceEvent> ordered;
  ordered.reserve(ring_.size());
  const auto middle = ring_.begin() + static_cast<std::ptrdiff_t>(oldest_);
  ordered.insert(ordered.end(), middle, ring_.end());
  ordered.insert(ordered.end(), ring_.begin(), middle);
  return ordered;
}

}  // namespace devsan::memory
