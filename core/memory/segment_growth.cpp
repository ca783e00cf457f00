// Memory from the device: what CachingAllocator does when no cached block fits.

#include <algorithm>

#include "memory/caching_allocator.h"
#include "memory/size_rules.h"

namespace devsan::memory {

/// Asks the device, gives back more and more of the cache in between. @returns nullptr when all of that fails
Block* CachingAllocator::grow(const Request& request) {
  if (allowed_bytes_ && settings_.garbage_collection_threshold() > 0.0) {
    collect_garbage();
  }
  if (Block* block = new_segment(request)) {
    return block;
  }
  if (release_oversize_blocks(request)) {
    if (Block* block = new_segment(request)) {
      return block;
    }
  }
  release_cached_blocks();
  stats_.num_alloc_retries += 1;
  return new_segment(request);
}

Block* CachingAllocator::new_segment(const Request& request) {
  const std::size_t size = request.segment_size;
  if (allowed_bytes_ && reserved_ + size > *allowed_bytes_) {
    return nullptr;
  }
  if (settings_.expandable_segments()) {
    return expand(request);
  }
  const Address address = memory_.allocate(size);
  if (address == 0) {
    return nullptr;
  }
  Block* block = blocks_.take();
  block->owner = this;
  block->device = device_;
  block->stream = request.stream;
  block->size = size;
  block->address = address;
  block->pool = &request.pool;
  block->segment_stack = request.stack;
  block->segment_number = segments_made_++;

  reserved_ += size;
  stats_.segment.increase(request.pool.is_small(), 1);
  stats_.reserved_bytes.increase(request.pool.is_small(), size);
  if (is_oversize(size)) {
    stats_.oversize_segments.increase(1);
  }
  stats_.num_device_alloc += 1;
  note(TraceAction::kSegmentAlloc, address, size, request.stream, request.stack);
  return block;
}

/// A free block of an expandable segment that was grown to the size of the request; not in its pool any more.
Block* CachingAllocator::expand(const Request& request) {
  Block* block = find_room(request);
  // `block` heads a run of free and unmapped blocks: unmapped, or free then unmapped.
  if (!block->mapped && !map(block, std::min(block->size, request.size), request.stack)) {
    return nullptr;
  }
  while (block->size < request.size) {
    Block* next = block->next;
    if (!map(next, std::min(request.size - block->size, next->size), request.stack)) {
      return nullptr;
    }
    block = next;  // map merged `block` into it
  }
  request.pool.cached().erase(block);
  return block;
}

/// The lowest address where the request fits when memory is added; a new segment where there is none.
Block* CachingAllocator::find_room(const Request& request) {
  BlockPool& pool = request.pool;
  const auto has_room = [&](const Block* block) {
    std::size_t size = 0;
    for (; size < request.size && block != nullptr && block->is_free(); block = block->next) {
      size += block->size;
    }
    return size >= request.size;
  };
  Block key;
  key.stream = request.stream;
  for (auto it = pool.unmapped.lower_bound(&key); it != pool.unmapped.end() && (*it)->stream == request.stream; ++it) {
    Block* block = *it;
    if (block->previous != nullptr && block->previous->is_free()) {
      block = block->previous;
    }
    if (has_room(block)) {
      return block;
    }
  }
  const std::size_t page = pool.is_small() ? kSmallBuffer : settings_.large_segment_size();
  expandable_segments_.push_back(std::make_unique<ExpandableSegment>(memory_, page));
  ExpandableSegment& segment = *expandable_segments_.back();
  Block* block = blocks_.take();
  block->owner = this;
  block->device = device_;
  block->stream = request.stream;
  block->size = segment.size();
  block->address = segment.start();
  block->pool = &pool;
  block->mapped = false;
  block->expandable = &segment;
  block->segment_number = segments_made_++;
  pool.unmapped.insert(block);
  return block;
}

/// Puts memory behind the first `size` bytes of an unmapped block and caches it, merged with its neighbors.
bool CachingAllocator::map(Block* block, std::size_t size, StackId stack) {
  const AddressRange range = block->expandable->map({block->address, size});
  if (range.size == 0) {
    return false;
  }
  BlockPool& pool = *block->pool;
  pool.unmapped.erase(block);
  block->mapped = true;
  if (range.size < block->size) {
    Block* rest = blocks_.take();
    rest->owner = this;
    rest->device = device_;
    rest->stream = block->stream;
    rest->size = block->size - range.size;
    rest->address = block->address + range.size;
    rest->pool = &pool;
    rest->mapped = false;
    rest->expandable = block->expandable;
    rest->segment_number = block->segment_number;
    rest->link_between(block, block->next);
    pool.unmapped.insert(rest);
    block->size = range.size;
  }
  merge(block, block->previous);
  merge(block, block->next);
  pool.insert(block);

  reserved_ += range.size;
  stats_.reserved_bytes.increase(pool.is_small(), range.size);
  stats_.num_device_alloc += 1;
  note(TraceAction::kSegmentMap, range.start, range.size, block->stream, stack);
  if (block->previous == nullptr && block->segment_stack == 0) {
    block->segment_stack = stack;
  }
  return true;
}

}  // namespace devsan::memory
