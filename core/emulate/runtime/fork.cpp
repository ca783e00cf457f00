#include "emulate/runtime/fork.h"

#include <vector>

#include "emulate/runtime/device.h"
#include "emulate/runtime/pinned_memory.h"
#include "order/monitor.h"

namespace devsan::emulate {
namespace {

// Touched by the forking thread alone, between the two calls.
std::vector<memory::CachingAllocator*>& held() {
  static auto* allocators = new std::vector<memory::CachingAllocator*>();
  return *allocators;
}

}  // namespace

void hold_locks_for_fork() {
  for_each_device([](EmulatedDevice& each) { held().push_back(&each.allocator); });
  for (memory::CachingAllocator* allocator : held()) allocator->before_fork();
  lock_pinned_memory();
  order::Monitor::instance().before_fork();
}

void release_locks_after_fork() {
  order::Monitor::instance().after_fork();
  unlock_pinned_memory();
  for (memory::CachingAllocator* allocator : held()) allocator->after_fork();
  held().clear();
}

}  // namespace devsan::emulate
