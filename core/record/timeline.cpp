#include "record/timeline.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace devsan::record {
namespace {

std::int64_t now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Puts `entry` at the end of a ring. @return what had to go for it, or null
template <class Entry>
const Entry* push(std::vector<Entry>& ring, std::size_t& next, std::size_t most, const Entry& entry, Entry& gone) {
  if (ring.size() < most) {
    ring.push_back(entry);
    return nullptr;
  }
  gone = std::exchange(ring[next], entry);
  next = (next + 1) % most;
  return &gone;
}

/// The entries of a ring, the oldest first; empties it.
template <class Entry>
std::vector<Entry> take(std::vector<Entry>& ring, std::size_t& next) {
  std::rotate(ring.begin(), ring.begin() + static_cast<std::ptrdiff_t>(next), ring.end());
  next = 0;
  return std::exchange(ring, {});
}

}  // namespace

Timeline& Timeline::instance() {
  static auto* timeline = new Timeline();  // never destroyed, as the Recorder
  return *timeline;
}

void Timeline::start() {
  drain();
  on_.store(true, std::memory_order_relaxed);
}

void Timeline::add_transfer(PlacementId placement, std::uint64_t bytes) {
  if (!is_on() || placement == kUnknownPlacement) return;
  const std::int64_t time = now();
  const std::lock_guard lock(mutex_);
  const std::size_t size = transfers_.size();
  for (std::size_t back = 1; back <= kTogether && back <= size; ++back) {
    Transfer& before = transfers_[(next_transfer_ + size - back) % size];
    if (before.placement != placement) continue;
    if (time - before.last >= kPause) break;
    before.last = time;
    ++before.times;
    before.bytes += bytes;
    return;
  }
  Transfer gone;
  if (push(transfers_, next_transfer_, kMaxTransfers, {placement, time, time, 1, bytes}, gone) != nullptr) {
    lost_ += gone.times;
  }
}

bool Timeline::wants_sample(std::int8_t device) noexcept {
  if (!is_on() || device < 0) return false;
  std::atomic<std::int64_t>& last = sampled_[static_cast<std::size_t>(device)];
  const std::int64_t time = now();
  std::int64_t before = last.load(std::memory_order_relaxed);
  return time - before >= kBetweenSamples && last.compare_exchange_strong(before, time, std::memory_order_relaxed);
}

void Timeline::add_sample(MemorySample sample) {
  sample.time = now();
  const std::lock_guard lock(mutex_);
  MemorySample gone;
  push(samples_, next_sample_, kMaxSamples, sample, gone);
}

void Timeline::collect(std::vector<PlacementId>& live) const {
  const std::lock_guard lock(mutex_);
  for (const Transfer& each : transfers_) live.push_back(each.placement);
}

Timeline::Entries Timeline::drain() {
  const std::lock_guard lock(mutex_);
  return {take(transfers_, next_transfer_), take(samples_, next_sample_), std::exchange(lost_, 0)};
}

}  // namespace devsan::record
