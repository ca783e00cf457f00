#include "memory/expandable_segment.h"

#include <algorithm>

#include "memory/size_rules.h"

namespace devsan::memory {

ExpandableSegment::ExpandableSegment(DeviceMemory& device, std::size_t page_size)
    : device_(device),
      page_size_(page_size),
      pages_(round_up(device.total_bytes() + device.total_bytes() / 8, page_size) / page_size, false),
      start_(device.addresses().reserve(size())) {}

ExpandableSegment::~ExpandableSegment() {
  const auto mapped = static_cast<std::size_t>(std::ranges::count(pages_, true));
  device_.give_back(mapped * page_size_);
  device_.addresses().release(start_, size());
}

AddressRange ExpandableSegment::map(AddressRange range) {
  const std::size_t begin = (range.start - start_) / page_size_;
  const std::size_t end = round_up(range.start + range.size - start_, page_size_) / page_size_;
  if (end > pages_.size() || !device_.take((end - begin) * page_size_)) {
    return pages(begin, begin);
  }
  std::fill(pages_.begin() + static_cast<std::ptrdiff_t>(begin), pages_.begin() + static_cast<std::ptrdiff_t>(end),
            true);
  return pages(begin, end);
}

AddressRange ExpandableSegment::unmap(AddressRange range) {
  const std::size_t begin = round_up(range.start - start_, page_size_) / page_size_;
  const std::size_t end = (range.start + range.size - start_) / page_size_;
  if (begin >= end) {
    return {range.start, 0};
  }
  std::fill(pages_.begin() + static_cast<std::ptrdiff_t>(begin), pages_.begin() + static_cast<std::ptrdiff_t>(end),
            false);
  device_.give_back((end - begin) * page_size_);
  return pages(begin, end);
}

AddressRange ExpandableSegment::pages(std::size_t begin, std::size_t end) const noexcept {
  return {start_ + begin * page_size_, (end - begin) * page_size_};
}

}  // namespace devsan::memory
