// A block back to its pool: what becomes of it when it is freed.

#include <algorithm>

#include "memory/caching_allocator.h"

namespace devsan::memory {

void CachingAllocator::free(Block* block) noexcept {
  if (block == nullptr) {
    return;
  }
  const Change change(*this);
  if (peak_.is_due()) {
    keep_peak();
  }
  const bool small = block->pool->is_small();
  block->allocated = false;
  stats_.allocation.decrease(small, 1);
  stats_.allocated_bytes.decrease(small, block->size);
  stats_.held_by_phase[static_cast<std::size_t>(block->phase)] -= static_cast<std::int64_t>(block->size);
  if (is_oversize(block->size)) {
    stats_.oversize_allocations.decrease(1);
  }
  note(TraceAction::kFreeRequested, block->address, block->requested_size, block->stream, block->stack);
  if (block->stream_uses.empty()) {
    cache(block);
    return;
  }
  block->event_count = static_cast<int>(block->stream_uses.size());
  for (const StreamId stream : block->stream_uses) {
    const std::uint64_t moment = progress_ != nullptr ? progress_->launched(device_, stream) : 0;
    waits_[stream].push_back({block, moment, allocations_});
  }
  block->stream_uses.clear();
}

void CachingAllocator::record_stream(Block* block, StreamId stream) {
  if (block == nullptr) {
    return;
  }
  const std::lock_guard lock(mutex_);
  auto& uses = block->stream_uses;
  if (stream != block->stream && std::ranges::find(uses, stream) == uses.end()) {
    uses.push_back(stream);
  }
}

/// process_events of torch, and synchronize_and_free_events where all streams have been waited for.
void CachingAllocator::release_waiting_blocks(bool is_waited_for) {
  for (auto& [stream, waits] : waits_) {
    while (!waits.empty()) {
      const Wait& first = waits.front();
      if (!is_waited_for && progress_ != nullptr && allocations_ < first.allocation + kLaunchQueue &&
          !progress_->is_done(device_, stream, first.moment)) {
        break;
      }
      if (--first.block->event_count == 0) {
        cache(first.block);
      }
      waits.pop_front();
    }
  }
}

/// Puts a block that nobody uses any more into its pool, merged with its free neighbors.
void CachingAllocator::cache(Block* block) {
  const bool small = block->pool->is_small();
  note(TraceAction::kFreeCompleted, block->address, block->requested_size, block->stream, block->stack);
  block->stack = 0;
  const std::size_t size = block->size;
  std::int64_t blocks_gained = 0;
  std::int64_t bytes_gained = 0;
  for (Block* neighbor : {block->previous, block->next}) {
    if (const std::size_t merged = merge(block, neighbor); merged > 0) {
      --blocks_gained;
      bytes_gained -= static_cast<std::int64_t>(merged);
    }
  }
  block->pool->insert(block);
  if (block->is_split()) {
    ++blocks_gained;
    bytes_gained += static_cast<std::int64_t>(block->size);
  }

  const auto change = [small](StatArray& stat, std::int64_t amount) {
    if (amount > 0) {
      stat.increase(small, static_cast<std::size_t>(amount));
    } else if (amount < 0) {
      stat.decrease(small, static_cast<std::size_t>(-amount));
    }
  };
  // Free pages of an expandable segment can always be given back, so torch does not count them as split.
  if (block->expandable == nullptr) {
    change(stats_.inactive_split, blocks_gained);
    change(stats_.inactive_split_bytes, bytes_gained);
  }
  stats_.active.decrease(small, 1);
  stats_.active_bytes.decrease(small, size);
  stats_.requested_bytes.decrease(small, block->requested_size);
}

/// Joins a free neighbor to `into`, whose node stays. @returns the bytes joined, 0 if it is in use
std::size_t CachingAllocator::merge(Block* into, Block* other) {
  if (other == nullptr || !other->is_free() || into->mapped != other->mapped) {
    return 0;
  }
  BlockPool& pool = *other->pool;
  // Out of its set first: the sets are ordered by what changes here.
  if (other->mapped) {
    pool.remove(other);
  } else {
    pool.unmapped.erase(other);
  }
  if (into->previous == other) {
    into->address = other->address;
    into->segment_stack = other->segment_stack;
    into->link_between(other->previous, into->next);
  } else {
    into->link_between(into->previous, other->next);
  }
  const std::size_t size = other->size;
  into->size += size;
  blocks_.give_back(other);
  return size;
}

}  // namespace devsan::memory
