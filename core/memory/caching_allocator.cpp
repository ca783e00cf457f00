#include "memory/caching_allocator.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "memory/ledger.h"
#include "memory/size_rules.h"

namespace devsan::memory {

CachingAllocator::CachingAllocator(int device, DeviceBudget budget, Settings settings, TorchRelease release)
    : device_(device),
      release_(release),
      settings_(std::move(settings)),
      memory_(device, std::move(budget)),
      small_(true, &nodes_),
      large_(false, &nodes_) {
  stats_.max_split_size = static_cast<std::int64_t>(settings_.max_split_size());
  set_memory_fraction(settings_.per_process_memory_fraction());
  Ledger::enter(this);
}

CachingAllocator::~CachingAllocator() { Ledger::leave(this); }

Block* CachingAllocator::allocate(std::size_t bytes, StreamId stream, StackId stack, Tag tag, bool momentary) {
  if (bytes == 0) {
    return nullptr;
  }
  if (bytes >= kOneExabyte) {
    throw OutOfMemory::beyond_one_exabyte(device_, bytes);
  }
  const Change change(*this);
  memory_.open();
  release_waiting_blocks(/*is_waited_for=*/false);
  const std::size_t size = block_size_for(bytes, settings_.roundup_power2_divisions(bytes));
  const Request request{size, segment_size_for(size, settings_.large_segment_size()), stream, stack,
                        size <= kSmallSize ? small_ : large_};
  Block* found = find_cached(request);
  if (found == nullptr) {
    found = grow(request);
  }
  if (found == nullptr) {
    throw out_of_memory(request, bytes);
  }
  Block* block = hand_out(found, request, bytes);
  block->tag = tag;
  block->momentary = momentary;
  block->serial = ++allocations_;
  block->scope = 0;
  if (PeakWatch::is_on()) {
    block->scope = ScopeGuard::current();
    peak_.rose(static_cast<std::uint64_t>(stats_.allocated_bytes.all().current));
  }
  return block;
}

bool CachingAllocator::has_room(std::size_t bytes, StreamId stream) {
  if (bytes >= kOneExabyte) {
    return false;
  }
  const Change change(*this);
  memory_.open();
  const std::size_t size = block_size_for(bytes, settings_.roundup_power2_divisions(bytes));
  const std::size_t segment = segment_size_for(size, settings_.large_segment_size());
  const bool is_allowed = !allowed_bytes_ || reserved_ + segment <= *allowed_bytes_;
  if (is_allowed && segment <= memory_.free_bytes()) {
    return true;
  }
  BlockPool& pool = size <= kSmallSize ? small_ : large_;
  const auto found = pool.at_least(stream, size);
  return found != pool.end() && (*found)->stream == stream && (*found)->expandable == nullptr &&
         !is_oversize((*found)->size);
}

void CachingAllocator::set_tag(Block* block, Tag tag) noexcept {
  const std::lock_guard lock(mutex_);
  block->tag = tag;
}

void CachingAllocator::set_use(Block* block, Use use) noexcept {
  const std::lock_guard lock(mutex_);
  block->use = std::max(block->use, use);
}

void CachingAllocator::collect_tags(std::vector<Tag>& tags) const {
  const std::lock_guard lock(mutex_);
  blocks_.for_each([&tags](const Block& block) {
    if (block.allocated) tags.push_back(block.tag);
  });
}

Block* CachingAllocator::find_cached(const Request& request) {
  BlockPool& pool = request.pool;
  if (allowed_bytes_ && settings_.garbage_collection_threshold() > 0.0) {
    ++pool.searches;
  }
  auto found = pool.at_least(request.stream, request.size);
  if (found == pool.end() || (*found)->stream != request.stream) {
    return nullptr;
  }
  if ((*found)->expandable != nullptr) {
    found = expandable_candidate(found, request);
    if (found == pool.end()) {
      return nullptr;
    }
  }
  Block* block = *found;
  // An oversize block is kept for oversize requests, and for those of about its size.
  if (!is_oversize(request.size) && is_oversize(block->size)) {
    return nullptr;
  }
  if (is_oversize(request.size) && block->size >= request.size + settings_.max_non_split_rounding_size()) {
    return nullptr;
  }
  pool.remove(found);
  return block;
}

/// Best fit among expandable segments counts what a block can grow to; with the option turned off
/// since, blocks of expandable segments are passed over. end() when none is left.
BlockPool::Cached::iterator CachingAllocator::expandable_candidate(BlockPool::Cached::iterator found,
                                                                   const Request& request) const {
  const auto end = request.pool.end();
  const auto is_candidate = [&](BlockPool::Cached::iterator block) {
    return block != end && (*block)->stream == request.stream;
  };
  if (!settings_.expandable_segments()) {
    while (is_candidate(found) && (*found)->expandable != nullptr) {
      ++found;
    }
    return is_candidate(found) ? found : end;
  }
  const auto reach = [](const Block* block) {
    return block->size + (block->next != nullptr && !block->next->mapped ? block->next->size : 0);
  };
  auto next = std::next(found);
  while ((*found)->expandable != nullptr && is_candidate(next) && reach(*next) < reach(*found)) {
    found = next++;
  }
  return found;
}

bool CachingAllocator::should_split(const Block* block, std::size_t size) const noexcept {
  const std::size_t rest = block->size - size;
  if (block->pool->is_small() || settings_.expandable_segments()) {
    return rest >= kMinBlockSize;
  }
  return !is_oversize(size) && rest > kSmallSize;
}

Block* CachingAllocator::hand_out(Block* found, const Request& request, std::size_t requested) {
  const bool small = request.pool.is_small();
  const bool was_split = found->is_split();
  Block* block = found;
  if (should_split(found, request.size)) {
    block = split(found, request);
    if (block->expandable == nullptr && was_split) {
      stats_.inactive_split_bytes.decrease(small, block->size);
    } else if (block->expandable == nullptr) {
      stats_.inactive_split_bytes.increase(small, block->next->size);
      stats_.inactive_split.increase(small, 1);
    }
  } else if (was_split && block->expandable == nullptr) {
    stats_.inactive_split_bytes.decrease(small, block->size);
    stats_.inactive_split.decrease(small, 1);
  }

  block->allocated = true;
  block->requested_size = requested;
  block->stack = request.stack;
  note(TraceAction::kAlloc, block->address, requested, block->stream, block->stack);
  stats_.allocation.increase(small, 1);
  stats_.allocated_bytes.increase(small, block->size);
  block->phase = current_phase();
  block->use = Use::kNone;
  stats_.held_by_phase[static_cast<std::size_t>(block->phase)] += static_cast<std::int64_t>(block->size);
  stats_.active.increase(small, 1);
  stats_.active_bytes.increase(small, block->size);
  stats_.requested_bytes.increase(small, requested);
  if (is_oversize(block->size)) {
    stats_.oversize_allocations.increase(1);
  }
  return block;
}

/// Cuts `request.size` bytes off the front. The rest keeps the node, so that the front gets a fresh one.
Block* CachingAllocator::split(Block* whole, const Request& request) {
  Block* front = blocks_.take();
  front->owner = this;
  front->device = device_;
  front->stream = request.stream;
  front->size = request.size;
  front->address = whole->address;
  front->pool = whole->pool;
  front->expandable = whole->expandable;
  front->segment_number = whole->segment_number;
  front->segment_stack = std::exchange(whole->segment_stack, 0);
  front->link_between(whole->previous, whole);
  whole->address += request.size;
  whole->size -= request.size;
  request.pool.insert(whole);
  return front;
}

}  // namespace devsan::memory
