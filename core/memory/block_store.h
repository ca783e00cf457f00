#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "memory/block.h"

namespace devsan::memory {

/// Owns the nodes of all blocks of one device. Nodes come from chunks and return to a free list, so
/// that a cached allocation takes nothing from the heap. Not thread-safe: the allocator's lock covers it.
class BlockStore {
 public:
  BlockStore() = default;
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;

  /// A node with default values, marked live.
  Block* take();

  /// The node may be handed out again; pointers to it are stale.
  void give_back(Block* block) noexcept;

  /// Calls `visit(block)` for every live block, in no order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& chunk : chunks_) {
      for (std::size_t index = 0; index < kChunkSize; ++index) {
        if (chunk[index].live) {
          visit(chunk[index]);
        }
      }
    }
  }

 private:
  static constexpr std::size_t kChunkSize = 128;

  std::vector<std::unique_ptr<Block[]>> chunks_;
  Block* free_ = nullptr;  ///< linked by Block::next
};

}  // namespace devsan::memory
