#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "memory/block.h"

namespace devsan::memory {

/// What a block is doing, in the words of torch.cuda.memory_snapshot.
enum class BlockState { kActiveAllocated, kActivePendingFree, kInactive };

/// "active_allocated", "active_pending_free" or "inactive".
[[nodiscard]] constexpr std::string_view name(BlockState state) noexcept {
  switch (state) {
    case BlockState::kActiveAllocated:
      return "active_allocated";
    case BlockState::kActivePendingFree:
      return "active_pending_free";
    case BlockState::kInactive:
      break;
  }
  return "inactive";
}

/// A block as it was when the snapshot was taken. Sizes are bytes.
struct SegmentBlock {
  Address address = 0;
  std::size_t size = 0;
  std::size_t requested_size = 0;  ///< of an inactive block: what it was last handed out for, as torch reports it
  BlockState state = BlockState::kInactive;
  StackId stack = 0;  ///< who allocated it; 0 for an inactive block
};

/// One stretch of device memory (c10::CachingDeviceAllocator::SegmentInfo). An expandable segment
/// appears once per contiguous mapped range.
struct Segment {
  int device = 0;
  Address address = 0;
  StreamId stream = 0;
  StackId stack = 0;                       ///< who made it
  std::int32_t registration_counter = -1;  ///< in order of creation
  bool is_large = false;
  bool is_expandable = false;
  std::size_t total_size = 0;
  std::size_t allocated_size = 0;
  std::size_t active_size = 0;
  std::size_t requested_size = 0;  ///< of the active blocks
  std::vector<SegmentBlock> blocks;

  /// "large" or "small", torch's segment_type.
  [[nodiscard]] std::string_view type() const noexcept { return is_large ? "large" : "small"; }
};

}  // namespace devsan::memory
