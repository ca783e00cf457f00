#include "memory/ledger.h"

#include <mutex>
#include <set>

#include "memory/caching_allocator.h"

namespace devsan::memory {
namespace {

struct Books {
  std::mutex mutex;
  std::set<const CachingAllocator*> allocators;
};

Books& books() {
  static auto* all = new Books();  // leaked: allocators may outlive statics
  return *all;
}

template <typename Wanted, typename Figure>
std::int64_t add_up(const Wanted& wanted, const Figure& figure) {
  const std::lock_guard lock(books().mutex);
  std::int64_t sum = 0;
  for (const CachingAllocator* allocator : books().allocators) {
    if (wanted(*allocator)) {
      sum += figure(allocator->stats());
    }
  }
  return sum;
}

auto on(int device) {
  return [device](const CachingAllocator& allocator) { return allocator.device() == device; };
}

std::int64_t blocks_of(const Stats& stats) { return stats.allocation.all().current; }

}  // namespace

std::int64_t Ledger::live_blocks(int device) { return add_up(on(device), blocks_of); }

std::int64_t Ledger::live_bytes(int device) {
  return add_up(on(device), [](const Stats& stats) { return stats.allocated_bytes.all().current; });
}

std::int64_t Ledger::live_blocks() {
  return add_up([](const CachingAllocator&) { return true; }, blocks_of);
}

void Ledger::enter(const CachingAllocator* allocator) {
  const std::lock_guard lock(books().mutex);
  books().allocators.insert(allocator);
}

void Ledger::leave(const CachingAllocator* allocator) {
  const std::lock_guard lock(books().mutex);
  books().allocators.erase(allocator);
}

}  // namespace devsan::memory
