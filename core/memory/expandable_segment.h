#pragma once

#include <cstddef>
#include <vector>

#include "memory/device_memory.h"

namespace devsan::memory {

struct AddressRange {
  Address start = 0;
  std::size_t size = 0;
};

/// A large piece of address space that is filled with memory page by page
/// (ExpandableSegment in c10/cuda/CUDACachingAllocator.cpp; pages are 2 MiB in the small pool and
/// large_segment_size in the large one).
class ExpandableSegment {
 public:
  /// Reserves addresses for 1 1/8 of the device, so that pages can move to the end when earlier ones were unmapped.
  ExpandableSegment(DeviceMemory& device, std::size_t page_size);
  ~ExpandableSegment();
  ExpandableSegment(const ExpandableSegment&) = delete;
  ExpandableSegment& operator=(const ExpandableSegment&) = delete;

  [[nodiscard]] Address start() const noexcept { return start_; }
  [[nodiscard]] std::size_t size() const noexcept { return pages_.size() * page_size_; }

  /// Puts memory behind every page that the range touches. The range starts at a page.
  /// @returns what was mapped, in whole pages; size 0 when the device has too little memory
  [[nodiscard]] AddressRange map(AddressRange range);

  /// Gives back the memory of the pages that lie wholly in the range.
  /// @returns what was unmapped; size 0 when no page lies wholly in it
  [[nodiscard]] AddressRange unmap(AddressRange range);

 private:
  [[nodiscard]] AddressRange pages(std::size_t begin, std::size_t end) const noexcept;

  DeviceMemory& device_;
  std::size_t page_size_;
  std::vector<bool> pages_;  ///< true: has memory
  Address start_;
};

}  // namespace devsan::memory
