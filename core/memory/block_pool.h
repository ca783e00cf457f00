#pragma once

#include <cstddef>
#include <cstdint>
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

  BlockPool(bool small, std::pmr::memory_resource* nodes) : cached(nodes), unmapped(nodes), small_(small) {}

  [[nodiscard]] bool is_small() const noexcept { return small_; }

  /// Caches a free block and remembers at which search it came, for its age.
  void insert(Block* block) {
    block->search_count_when_cached = searches;
    if (spare_.empty()) {
      cached.insert(block);
    } else {
      spare_.value() = block;
      cached.insert(std::move(spare_));
    }
  }

  /// Takes a block out of the cache. Most often another, or what is left of it, goes in next: the node is kept for it.
  void remove(Cached::const_iterator block) { spare_ = cached.extract(block); }
  void remove(Block* block) { spare_ = cached.extract(block); }

  /// The smallest block of the stream with at least `size` bytes; end() if there is none.
  /// The result may belong to a later stream: the caller compares.
  [[nodiscard]] Cached::iterator at_least(StreamId stream, std::size_t size) {
    return cached.lower_bound(SizeKey{stream, size});
  }

  /// How many searches the block has lain unused for.
  [[nodiscard]] std::int64_t age(const Block* block) const noexcept {
    return searches - block->search_count_when_cached;
  }

  Cached cached;
  Unmapped unmapped;          ///< address space of expandable segments without memory behind it
  std::int64_t searches = 0;  ///< counted only while garbage collection is on

 private:
  Cached::node_type spare_;
  bool small_;
};

}  // namespace devsan::memory
