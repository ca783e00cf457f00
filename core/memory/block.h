#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "memory/phase.h"
#include "memory/scope.h"
#include "memory/use.h"

namespace devsan::memory {

class BlockPool;
class CachingAllocator;
class ExpandableSegment;

/// A simulated device address. It is never read or written: it only orders and names memory.
using Address = std::uint64_t;
/// A stream, by whatever number the caller knows it; 0 is the default stream.
using StreamId = std::uint64_t;
/// What the caller calls an allocation; 0 is nothing.
using Tag = std::uint64_t;
/// A recorded stack, by the caller's number; 0 is none.
using StackId = std::uint64_t;

/// A piece of a segment. Blocks of one segment form a list in address order.
/// What a caller may read while it holds the block: device, stream, size, requested_size, address, stack, owner.
struct Block {
  CachingAllocator* owner = nullptr;
  Address address = 0;
  std::size_t size = 0;            ///< bytes, rounded
  std::size_t requested_size = 0;  ///< bytes, as asked for the last time the block was handed out
  StreamId stream = 0;             ///< the stream it was allocated on
  StackId stack = 0;               ///< the caller's stack of the allocation
  int device = 0;
  Tag tag = 0;               ///< the caller's, while `allocated`
  Scope scope = 0;           ///< what took it, while `allocated` and where peaks were watched
  std::uint64_t serial = 0;  ///< of the allocation, while `allocated`: no two of a device have the same

  Phase phase = Phase::kNone;        ///< in which it was taken, while `allocated`
  Use use = Use::kNone;              ///< while `allocated`
  bool momentary = false;            ///< needed for a moment only, as the caller says, while `allocated`
  bool allocated = false;            ///< held by the program
  bool mapped = true;                ///< false: address space of an expandable segment without memory behind it
  bool live = false;                 ///< false: the node lies in the free list of its BlockStore
  std::int32_t segment_number = -1;  ///< of its segment, in order of creation on the device
  int event_count = 0;               ///< freed, but still waiting for so many streams

  BlockPool* pool = nullptr;
  Block* previous = nullptr;
  Block* next = nullptr;
  ExpandableSegment* expandable = nullptr;
  std::int64_t search_count_when_cached = 0;  ///< the pool's search count: the block's age for garbage collection
  StackId segment_stack = 0;                  ///< of the first block: the stack that made the segment grow
  std::vector<StreamId> stream_uses;          ///< other streams, from record_stream

  [[nodiscard]] bool is_split() const noexcept { return previous != nullptr || next != nullptr; }

  /// All of what one cudaMalloc gave. Only such a block can be returned to the device by itself; of an expandable segment
  /// pages are unmapped.
  [[nodiscard]] bool is_whole_segment() const noexcept { return !is_split() && expandable == nullptr; }

  [[nodiscard]] bool is_waiting() const noexcept { return event_count > 0 || !stream_uses.empty(); }

  /// Neither held nor waited for: free to be merged or handed out.
  [[nodiscard]] bool is_free() const noexcept { return !allocated && !is_waiting(); }

  /// Puts this block between two neighbors (either may be null).
  void link_between(Block* before, Block* after) noexcept {
    previous = before;
    next = after;
    if (before != nullptr) {
      before->next = this;
    }
    if (after != nullptr) {
      after->previous = this;
    }
  }
};

/// Owns the nodes of all blocks of one device. Nodes come from chunks and return to a free list, so
/// that a cached allocation takes nothing from the heap. Not thread-safe: the allocator's lock covers it.
class BlockStore {
 public:
  BlockStore() = default;
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;

  /// A node with default values, marked live.
  Block* take() {
    if (free_ == nullptr) {
      auto chunk = std::make_unique<Block[]>(kChunkSize);
      for (std::size_t index = kChunkSize; index > 0; --index) {
        chunk[index - 1].next = free_;
        free_ = &chunk[index - 1];
      }
      chunks_.push_back(std::move(chunk));
    }
    Block* block = free_;
    free_ = block->next;
    block->next = nullptr;
    block->live = true;
    return block;
  }

  /// The node may be handed out again; pointers to it are stale.
  void give_back(Block* block) noexcept {
    // The vector keeps its room for the next use of this node.
    std::vector<StreamId> stream_uses = std::move(block->stream_uses);
    stream_uses.clear();
    *block = Block{};
    block->stream_uses = std::move(stream_uses);
    block->next = free_;
    free_ = block;
  }

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
