#include "memory/device_memory.h"

#include "memory/size_rules.h"

namespace devsan::memory {

Address DeviceMemory::allocate(std::uint64_t bytes) {
  const std::uint64_t pages = round_up(bytes, kRoundLarge);
  return pages >= bytes && take(pages) ? addresses_.reserve(pages) : 0;
}

void DeviceMemory::free(Address start, std::uint64_t bytes) {
  const std::uint64_t pages = round_up(bytes, kRoundLarge);
  addresses_.release(start, pages);
  give_back(pages);
}

bool DeviceMemory::take(std::uint64_t bytes) noexcept {
  open();
  if (bytes > free_bytes()) {
    return false;
  }
  held_bytes_ += bytes;
  return true;
}

std::uint64_t DeviceMemory::free_bytes() const noexcept {
  const std::uint64_t used = budget_.busy_bytes + process_bytes();
  return used < budget_.total_bytes ? budget_.total_bytes - used : 0;
}

std::uint64_t DeviceMemory::process_bytes() const noexcept { return held_bytes_ + (open_ ? budget_.context_bytes : 0); }

}  // namespace devsan::memory
