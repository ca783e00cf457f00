// What CachingAllocator tells: figures, snapshot, history; and the doors beside the cache.

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "memory/caching_allocator.h"

namespace devsan::memory {

void CachingAllocator::open() {
  const Change change(*this);
  memory_.open();
}

void CachingAllocator::stop_sharing() {
  const std::lock_guard lock(mutex_);
  memory_.stop_sharing();
  gauges_ = nullptr;
}

void CachingAllocator::show_on(std::shared_ptr<Gauges> gauges) {
  const Change change(*this);
  gauges_ = std::move(gauges);
}

OutOfMemory CachingAllocator::out_of_memory(const Request& request, std::size_t requested) {
  const DeviceBudget& budget = memory_.budget();
  OutOfMemoryFigures figures;
  figures.device = device_;
  figures.requested = requested;
  figures.tried = request.segment_size;
  figures.device_total = budget.total_bytes;
  figures.device_free = memory_.free_bytes();
  figures.busy = budget.busy_bytes;
  figures.busy_process_id = budget.busy_process_id;
  figures.process = memory_.process_bytes();
  if (std::vector<ProcessUse> sharing = memory_.processes(); sharing.size() > 1) {
    figures.sharing = std::make_shared<const std::vector<ProcessUse>>(std::move(sharing));
  }
  figures.allowed = allowed_bytes_;
  figures.allocated = static_cast<std::uint64_t>(stats_.allocated_bytes.all().current);
  figures.reserved = static_cast<std::uint64_t>(stats_.reserved_bytes.all().current);
  figures.expandable_segments = settings_.expandable_segments();
  note(TraceAction::kOutOfMemory, figures.device_free, request.size, request.stream, request.stack);
  stats_.num_ooms += 1;
  OutOfMemory refusal(figures, release_);
  last_exhaustion_ = std::make_shared<const Exhaustion>(Exhaustion{figures, refusal.what(), held_blocks()});
  return refusal;
}

std::vector<TaggedBlock> CachingAllocator::held_blocks() const {
  std::vector<TaggedBlock> held;
  blocks_.for_each([&held](const Block& block) {
    if (!block.allocated) return;
    held.push_back({block.address, block.size, block.tag, block.serial, block.scope, block.momentary, block.use});
  });
  return held;
}

void CachingAllocator::keep_peak() {
  peak_.keep({.allocated = static_cast<std::uint64_t>(stats_.allocated_bytes.all().current),
              .reserved = static_cast<std::uint64_t>(stats_.reserved_bytes.all().current),
              .process = memory_.process_bytes(),
              .held = held_blocks()});
}

std::shared_ptr<const Peak> CachingAllocator::peak() {
  const std::lock_guard lock(mutex_);
  if (peak_.is_due()) {
    keep_peak();
  }
  return peak_.peak();
}

void CachingAllocator::tell_peak_cause(std::uint64_t cause) {
  const std::lock_guard lock(mutex_);
  peak_.tell(cause);
}

void CachingAllocator::set_memory_fraction(double fraction) {
  if (!(fraction >= 0.0 && fraction <= 1.0)) {
    std::ostringstream sentence;
    sentence << "invalid fraction:" << fraction << ". Please set within [0, 1].";
    throw std::invalid_argument(sentence.str());
  }
  const std::lock_guard lock(mutex_);
  if (fraction >= 1.0) {
    allowed_bytes_.reset();
    return;
  }
  const double allowed = fraction * static_cast<double>(memory_.total_bytes());
  allowed_bytes_ = static_cast<std::uint64_t>(release_ >= TorchRelease{2, 13} ? std::round(allowed) : allowed);
}

double CachingAllocator::memory_fraction() const {
  const std::lock_guard lock(mutex_);
  if (!allowed_bytes_ || memory_.total_bytes() == 0) {
    return 1.0;
  }
  return static_cast<double>(*allowed_bytes_) / static_cast<double>(memory_.total_bytes());
}

Settings CachingAllocator::settings() const {
  const std::lock_guard lock(mutex_);
  return settings_;
}

void CachingAllocator::update_settings(std::string_view text) {
  const std::lock_guard lock(mutex_);
  settings_.update(text);
}

std::uint64_t CachingAllocator::free_bytes() {
  const Change change(*this);
  memory_.open();
  return memory_.free_bytes();
}

std::uint64_t CachingAllocator::room() const {
  const std::lock_guard lock(mutex_);
  const auto cached = stats_.reserved_bytes.all().current - stats_.allocated_bytes.all().current;
  const std::uint64_t room = memory_.free_bytes() + static_cast<std::uint64_t>(cached);
  if (!allowed_bytes_) return room;
  const auto held = static_cast<std::uint64_t>(stats_.allocated_bytes.all().current);
  return std::min(room, *allowed_bytes_ > held ? *allowed_bytes_ - held : 0);
}

std::shared_ptr<const Exhaustion> CachingAllocator::last_exhaustion() const {
  const std::lock_guard lock(mutex_);
  return last_exhaustion_;
}

Address CachingAllocator::device_allocate(std::uint64_t bytes) {
  const Change change(*this);
  memory_.open();
  const Address address = bytes == 0 ? 0 : memory_.allocate(bytes);
  if (address != 0) {
    device_allocations_.emplace(address, bytes);
  }
  return address;
}

bool CachingAllocator::device_free(Address address) {
  const Change change(*this);
  const auto found = device_allocations_.find(address);
  if (found == device_allocations_.end()) {
    return false;
  }
  memory_.free(found->first, found->second);
  device_allocations_.erase(found);
  return true;
}

Stats CachingAllocator::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void CachingAllocator::reset_peak_stats() {
  const std::lock_guard lock(mutex_);
  for_each_array(stats_, [](const char*, StatArray& array) {
    for (Stat& stat : array.by_pool) {
      stat.reset_peak();
    }
  });
  for_each_stat(stats_, [](const char*, Stat& stat) { stat.reset_peak(); });
}

void CachingAllocator::reset_accumulated_stats() {
  const std::lock_guard lock(mutex_);
  for_each_array(stats_, [](const char*, StatArray& array) {
    for (Stat& stat : array.by_pool) {
      stat.reset_accumulated();
    }
  });
  for_each_stat(stats_, [](const char*, Stat& stat) { stat.reset_accumulated(); });
  stats_.num_alloc_retries = 0;
  stats_.num_ooms = 0;
  stats_.num_sync_all_streams = 0;
  stats_.num_device_alloc = 0;
  stats_.num_device_free = 0;
  stats_.num_oom_rejections = 0;
}

std::vector<Segment> CachingAllocator::snapshot() {
  const std::lock_guard lock(mutex_);
  std::vector<Segment> segments;
  std::size_t active = 0;
  blocks_.for_each([&](const Block& block) {
    const bool is_head = block.mapped && (block.previous == nullptr || !block.previous->mapped);
    if (is_head) {
      segments.push_back(segment_at(&block));
      active += segments.back().active_size;
    }
  });
  std::ranges::sort(segments, {}, &Segment::address);
  note(TraceAction::kSnapshot, 0, active, 0, 0);
  return segments;
}

Segment CachingAllocator::segment_at(const Block* head) const {
  Segment segment;
  segment.device = device_;
  segment.address = head->address;
  segment.stream = head->stream;
  segment.stack = head->segment_stack;
  segment.registration_counter = head->segment_number;
  segment.is_large = !head->pool->is_small();
  segment.is_expandable = head->expandable != nullptr;
  for (const Block* block = head; block != nullptr && block->mapped; block = block->next) {
    SegmentBlock copy{.address = block->address,
                      .size = block->size,
                      .requested_size = block->requested_size,
                      .state = BlockState::kInactive,
                      .stack = block->stack};
    segment.total_size += block->size;
    if (block->allocated) {
      copy.state = BlockState::kActiveAllocated;
      segment.allocated_size += block->size;
    } else if (block->is_waiting()) {
      copy.state = BlockState::kActivePendingFree;
    }
    if (copy.state != BlockState::kInactive) {
      segment.active_size += block->size;
      segment.requested_size += block->requested_size;
    }
    segment.blocks.push_back(copy);
  }
  return segment;
}

void CachingAllocator::record_history(bool enabled, std::size_t max_entries) {
  const std::lock_guard lock(mutex_);
  trace_.record(enabled, max_entries);
}

bool CachingAllocator::is_history_recorded() const {
  const std::lock_guard lock(mutex_);
  return trace_.is_enabled();
}

std::vector<TraceEvent> CachingAllocator::trace() const {
  const std::lock_guard lock(mutex_);
  return trace_.events();
}

}  // namespace devsan::memory
