#include "memory/device_memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "memory/size_rules.h"

namespace devsan::memory {
namespace {

// 4 TiB a device: room for several expandable segments, each of which reserves 1 1/8 of the device.
// The range lies below the addresses that Linux maps for a process, so a simulated address in a
// report is not mistaken for a host pointer.
constexpr Address kFirstAddress = 0x1000'0000'0000;
constexpr Address kAddressesPerDevice = 0x0400'0000'0000;

}  // namespace

DeviceMemory::DeviceMemory(int device, DeviceBudget budget) : budget_(std::move(budget)), addresses_(device) {
  if (budget_.shared != nullptr) {
    shared_ = std::make_unique<SharedBudget>(budget_.shared, budget_.gpu);
  }
}

void DeviceMemory::make_context() noexcept {
  open_ = true;
  if (shared_) {
    shared_->add(budget_.context_bytes);
  }
}

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
  if (shared_ && shared_->join()) {
    const std::uint64_t limit = budget_.total_bytes - std::min(budget_.busy_bytes, budget_.total_bytes);
    if (!shared_->take(bytes, limit)) {
      return false;
    }
  } else if (bytes > free_bytes()) {
    return false;
  }
  held_bytes_ += bytes;
  return true;
}

void DeviceMemory::give_back(std::uint64_t bytes) noexcept {
  held_bytes_ -= bytes;
  if (shared_) {
    shared_->give_back(bytes);
  }
}

std::uint64_t DeviceMemory::free_bytes() const noexcept {
  const bool is_shared = shared_ && shared_->join();
  const std::uint64_t used = budget_.busy_bytes + (is_shared ? shared_->used_bytes() : process_bytes());
  return used < budget_.total_bytes ? budget_.total_bytes - used : 0;
}

std::uint64_t DeviceMemory::process_bytes() const noexcept { return held_bytes_ + (open_ ? budget_.context_bytes : 0); }

std::vector<ProcessUse> DeviceMemory::processes() const {
  return shared_ && shared_->join() ? shared_->processes() : std::vector<ProcessUse>{};
}

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
