#include "memory/address_space.h"

#include <iterator>

#include "memory/size_rules.h"

namespace devsan::memory {

namespace {

// 4 TiB a device: room for several expandable segments, each of which reserves 1 1/8 of the device.
// The range lies below the addresses that Linux maps for a process, so a simulated address in a
// report is not mistaken for a host pointer.
constexpr Address kFirstAddress = 0x1000'0000'0000;
constexpr Address kAddressesPerDevice = 0x0400'0000'0000;

}  // namespace

AddressSpace::AddressSpace(int device)
    : end_(kFirstAddress + kAddressesPerDevice * static_cast<Address>(device < 0 ? 0 : device)) {}

Address AddressSpace::reserve(std::uint64_t bytes) {
  const std::uint64_t wanted = round_up(bytes, kRoundLarge);
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    const auto [start, size] = *hole;
    if (size < wanted) {
      continue;
    }
    holes_.erase(hole);
    if (size > wanted) {
      holes_.emplace(start + wanted, size - wanted);
    }
    return start;
  }
  const Address start = end_;
  end_ += wanted;
  return start;
}

void AddressSpace::release(Address start, std::uint64_t bytes) {
  std::uint64_t size = round_up(bytes, kRoundLarge);
  const auto after = holes_.lower_bound(start);
  if (after != holes_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == start) {
      start = before->first;
      size += before->second;
      holes_.erase(before);
    }
  }
  if (after != holes_.end() && after->first == start + size) {
    size += after->second;
    holes_.erase(after);
  }
  if (start + size == end_) {
    end_ = start;
    return;
  }
  holes_.emplace(start, size);
}

}  // namespace devsan::memory
