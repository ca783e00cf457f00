#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory_resource>
#include <set>
#include <tuple>
#include <utility>

#include "memory/block.h"

namespace devsan::memory {

/// The cached blocks of one kind (small or large) on one device, ordered for best fit: by stream,
/// then size; of equal blocks the one of the oldest segment comes first, then the one with the lowest
/// address (BlockComparatorSizeCounterAddress in c10/cuda/CUDACachingAllocator.cpp, torch 2.13).
class BlockPool {
 public:
  struct SizeKey {
    StreamId stream;
    std::size_t size;
  };

  struct BySize {
    using is_transparent = void;
    bool operator()(const Block* left, const Block* right) const noexcept {
      return std::tie(left->stream, left->size, left->segment_number, left->address) <
             std::tie(right->stream, right->size, right->segment_number, right->address);
    }
    bool operator()(const Block* block, const SizeKey& key) const noexcept {
      return std::tie(block->stream, block->size) < std::tie(key.stream, key.size);
    }
  };

  struct ByAddress {
    bool operator()(const Block* left, const Block* right) const noexcept {
      return std::tie(left->stream, left->address) < std::tie(right->stream, right->address);
    }
  };

  using Cached = std::pmr::set<Block*, BySize>;
  using Unmapped = std::pmr::set<Block*, ByAddress>;

  BlockPool(bool small, std::pmr::memory_resource* nodes) : unmapped(nodes), cached_(nodes), small_(small) {}

  [[nodiscard]] bool is_small() const noexcept { return small_; }

  /// Caches a free block and remembers at which search it came, for its age.
  void insert(Block* block) {
    block->search_count_when_cached = searches;
    if (leaving_ != cached_.end() && belongs_at(leaving_, block)) {
      const_cast<Block*&>(*leaving_) = block;
      recent_ = std::exchange(leaving_, cached_.end());
      return;
    }
    settle();
    if (spare_.empty()) {
      recent_ = cached_.insert(block).first;
    } else {
      spare_.value() = block;
      recent_ = cached_.insert(std::move(spare_)).position;
    }
  }

  /// Takes a block out of the cache; it may be changed from then on. See NOTE [Leaving blocks].
  void remove(Cached::iterator block) {
    settle();
    leaving_ = block;
    if (recent_ == block) recent_ = cached_.end();
  }
  void remove(Block* block) {
    settle();
    remove(recent_ != cached_.end() && *recent_ == block ? recent_ : cached_.find(block));
  }

  /// The smallest block of the stream with at least `size` bytes; end() if there is none.
  /// The result may belong to a later stream: the caller compares.
  [[nodiscard]] Cached::iterator at_least(StreamId stream, std::size_t size) {
    settle();
    return cached_.lower_bound(SizeKey{stream, size});
  }
  [[nodiscard]] Cached::iterator end() noexcept { return cached_.end(); }

  /// All cached blocks, to walk over or to erase from.
  [[nodiscard]] Cached& cached() {
    settle();
    recent_ = cached_.end();
    return cached_;
  }

  /// How many searches the block has lain unused for.
  [[nodiscard]] std::int64_t age(const Block* block) const noexcept {
    return searches - block->search_count_when_cached;
  }

  Unmapped unmapped;          ///< address space of expandable segments without memory behind it
  std::int64_t searches = 0;  ///< counted only while garbage collection is on

 private:
  // NOTE [Leaving blocks]
  // Most often a block leaves the cache and another, what is left of it or what it was merged into, comes in next and
  // belongs at the same place. A block that leaves therefore keeps its node in the tree until the next look at it, and
  // the next block takes the node over where the order allows; else the node is taken out then. Nothing compares with
  // the leaving block: it is changed meanwhile, and may be gone.

  [[nodiscard]] bool belongs_at(Cached::iterator place, const Block* block) const {
    const BySize before;
    const auto next = std::next(place);
    return (place == cached_.begin() || before(*std::prev(place), block)) &&
           (next == cached_.end() || before(block, *next));
  }

  void settle() {
    if (leaving_ != cached_.end()) spare_ = cached_.extract(std::exchange(leaving_, cached_.end()));
  }

  Cached cached_;
  Cached::iterator leaving_ = cached_.end();  ///< the node that is free to be taken over
  Cached::iterator recent_ = cached_.end();   ///< of the last block that came: it is often the next to leave
  Cached::node_type spare_;
  bool small_;
};

}  // namespace devsan::memory
