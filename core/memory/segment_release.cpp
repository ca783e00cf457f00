// Memory back to the device: emptying the cache, by need, by age or altogether.

#include <iterator>

#include "memory/caching_allocator.h"
#include "memory/size_rules.h"

namespace devsan::memory {

void CachingAllocator::empty_cache() {
  const Change change(*this);
  release_cached_blocks();
}

/// Releases the longest unused large segments until the reserved memory is below the threshold
/// (garbage_collect_cached_blocks). A round frees all that are older than the average.
void CachingAllocator::collect_garbage() {
  const auto threshold =
      static_cast<std::uint64_t>(settings_.garbage_collection_threshold() * static_cast<double>(*allowed_bytes_));
  if (reserved_ <= threshold) {
    return;
  }
  const std::uint64_t target = reserved_ - threshold;
  std::uint64_t reclaimed = 0;
  std::int64_t total_age = 0;
  std::int64_t releasable = 0;
  for (const Block* block : large_.cached()) {
    if (block->is_whole_segment()) {
      total_age += large_.age(block);
      ++releasable;
    }
  }
  bool released = releasable > 0;
  while (reclaimed < target && released && releasable > 0) {
    const double average_age = static_cast<double>(total_age) / static_cast<double>(releasable);
    released = false;
    for (auto it = large_.cached().begin(); it != large_.cached().end();) {
      Block* block = *it++;
      if (!block->is_whole_segment() || static_cast<double>(large_.age(block)) < average_age) {
        continue;
      }
      released = true;
      reclaimed += block->size;
      total_age -= large_.age(block);
      --releasable;
      release_segment(block);
    }
  }
}

/// With max_split_size: releases one oversize segment that is large enough, or the largest ones until their sum
/// is (release_available_cached_blocks). @returns whether enough was released
///
/// torch passes over expandable segments here. A part of a segment is passed over as well: there is one when the limit is
/// below large_segment_size, or was lowered while segments were split, and torch then gives cudaFree an address that it
/// never got from cudaMalloc.
bool CachingAllocator::release_oversize_blocks(const Request& request) {
  if (settings_.max_split_size() == Settings::kUnlimited) {
    return false;
  }
  BlockPool& pool = request.pool;
  const std::size_t wanted = is_oversize(request.size) ? request.size : settings_.max_split_size();
  auto it = pool.at_least(request.stream, wanted);
  if (it != pool.end() && (*it)->stream == request.stream && (*it)->is_whole_segment()) {
    release_segment(*it);
    return true;
  }
  std::size_t released = 0;
  while (released < wanted && it != pool.cached().begin()) {
    const auto largest = std::prev(it);
    Block* block = *largest;
    if (block->stream != request.stream || !is_oversize(block->size)) {
      break;
    }
    if (!block->is_whole_segment()) {
      it = largest;
      continue;
    }
    released += block->size;
    release_segment(block);  // erases `largest`; `it` stays valid
  }
  return released >= wanted;
}

void CachingAllocator::release_cached_blocks() {
  stats_.num_sync_all_streams += 1;
  release_waiting_blocks(/*is_waited_for=*/true);
  release_pool(large_);
  release_pool(small_);
}

void CachingAllocator::release_pool(BlockPool& pool) {
  std::vector<Block*> to_unmap;  // unmapping changes the set that is walked here
  for (auto it = pool.cached().begin(); it != pool.cached().end();) {
    Block* block = *it++;
    if (block->expandable != nullptr) {
      to_unmap.push_back(block);
    } else if (block->is_whole_segment()) {
      release_segment(block);
    }
  }
  for (Block* block : to_unmap) {
    unmap(block);
    if (!block->is_split()) {
      release_expandable_segment(block);
    }
  }
}

void CachingAllocator::release_segment(Block* block) {
  const bool small = block->pool->is_small();
  stats_.num_device_free += 1;
  note(TraceAction::kSegmentFree, block->address, block->size, block->stream, block->segment_stack);
  memory_.free(block->address, block->size);
  reserved_ -= block->size;
  stats_.segment.decrease(small, 1);
  stats_.reserved_bytes.decrease(small, block->size);
  if (is_oversize(block->size)) {
    stats_.oversize_segments.decrease(1);
  }
  block->pool->cached().erase(block);
  blocks_.give_back(block);
}

/// Gives back the whole pages inside a free block; what sticks out on either side stays cached.
void CachingAllocator::unmap(Block* block) {
  const AddressRange range = block->expandable->unmap({block->address, block->size});
  if (range.size == 0) {
    return;
  }
  BlockPool& pool = *block->pool;
  pool.cached().erase(block);
  const auto keep = [&](Address address, std::size_t size, Block* before, Block* after) {
    Block* kept = blocks_.take();
    kept->owner = this;
    kept->device = device_;
    kept->stream = block->stream;
    kept->size = size;
    kept->address = address;
    kept->pool = &pool;
    kept->expandable = block->expandable;
    kept->segment_number = block->segment_number;
    kept->link_between(before, after);
    pool.insert(kept);
  };
  const std::size_t front = range.start - block->address;
  const std::size_t back = block->size - front - range.size;
  if (front > 0) {
    keep(block->address, front, block->previous, block);
  }
  if (back > 0) {
    keep(range.start + range.size, back, block, block->next);
  }
  block->address = range.start;
  block->size = range.size;
  block->mapped = false;
  merge(block, block->previous);
  merge(block, block->next);
  pool.unmapped.insert(block);

  reserved_ -= range.size;
  stats_.reserved_bytes.decrease(pool.is_small(), range.size);
  stats_.num_device_free += 1;
  note(TraceAction::kSegmentUnmap, range.start, range.size, block->stream, block->segment_stack);
}

/// The segment has no memory left: its address space goes too.
void CachingAllocator::release_expandable_segment(Block* block) {
  block->pool->unmapped.erase(block);
  std::erase_if(expandable_segments_, [&](const auto& segment) { return segment.get() == block->expandable; });
  blocks_.give_back(block);
}

}  // namespace devsan::memory
