#include "emulate/runtime/device_allocator.h"

#include "emulate/runtime/device.h"
#include "emulate/runtime/storage.h"

namespace devsan::emulate {
namespace {

// SetAllocator keeps the allocator of the highest priority; torch's own are registered at 0.
constexpr std::uint8_t kDevicePriority = 100;

c10::Allocator* g_torch_device_allocator = nullptr;

c10::CachingAllocator::Stat as_torch(const memory::Stat& ours) {
  return {ours.current, ours.peak, ours.allocated, ours.freed};
}

void copy(const memory::StatArray& ours, c10::CachingAllocator::StatArray& theirs) {
  for (std::size_t i = 0; i < theirs.size(); ++i) theirs[i] = as_torch(ours.by_pool[i]);
}

}  // namespace

c10::DataPtr DeviceAllocator::allocate(size_t bytes) {
  const c10::Device target(c10::DeviceType::CUDA, current_device());
  c10::Storage storage = allocate_virtual_storage(bytes, target);
  return std::move(storage.unsafeGetStorageImpl()->_mutable_data_ptr_no_checks());
}

bool DeviceAllocator::is_simple_data_ptr(const c10::DataPtr& /*data_ptr*/) const { return false; }

void DeviceAllocator::copy_data(void* dest, const void* src, std::size_t count) const {
  default_copy_data(dest, src, count);
}

bool DeviceAllocator::initialized() { return device_count() > 0; }

void DeviceAllocator::emptyCache(c10::MempoolId_t /*pool*/) {
  for (c10::DeviceIndex i = 0; i < device_count(); ++i) device(i).allocator.empty_cache();
}

void DeviceAllocator::recordStream(const c10::DataPtr& data_ptr, c10::Stream stream) {
  record_stream(data_ptr, stream.id());
}

c10::CachingDeviceAllocator::DeviceStats DeviceAllocator::getDeviceStats(c10::DeviceIndex index) {
  const memory::Stats ours = device(index).allocator.stats();
  c10::CachingDeviceAllocator::DeviceStats theirs;
  copy(ours.allocation, theirs.allocation);
  copy(ours.segment, theirs.segment);
  copy(ours.active, theirs.active);
  copy(ours.inactive_split, theirs.inactive_split);
  copy(ours.allocated_bytes, theirs.allocated_bytes);
  copy(ours.reserved_bytes, theirs.reserved_bytes);
  copy(ours.active_bytes, theirs.active_bytes);
  copy(ours.inactive_split_bytes, theirs.inactive_split_bytes);
  copy(ours.requested_bytes, theirs.requested_bytes);
  theirs.oversize_allocations = as_torch(ours.oversize_allocations);
  theirs.oversize_segments = as_torch(ours.oversize_segments);
  theirs.num_alloc_retries = ours.num_alloc_retries;
  theirs.num_ooms = ours.num_ooms;
  theirs.num_sync_all_streams = ours.num_sync_all_streams;
  theirs.num_device_alloc = ours.num_device_alloc;
  theirs.num_device_free = ours.num_device_free;
  theirs.max_split_size = ours.max_split_size;
  return theirs;
}

void DeviceAllocator::resetAccumulatedStats(c10::DeviceIndex index) {
  device(index).allocator.reset_accumulated_stats();
}

void DeviceAllocator::resetPeakStats(c10::DeviceIndex index) { device(index).allocator.reset_peak_stats(); }

std::pair<size_t, size_t> DeviceAllocator::getMemoryInfo(c10::DeviceIndex index) {
  auto& allocator = device(index).allocator;
  return {allocator.free_bytes(), allocator.total_bytes()};
}

void DeviceAllocator::install() {
  g_torch_device_allocator = c10::GetAllocator(c10::DeviceType::CUDA);
  c10::SetAllocator(c10::DeviceType::CUDA, this, kDevicePriority);
}

void DeviceAllocator::remove() { c10::SetAllocator(c10::DeviceType::CUDA, g_torch_device_allocator, kDevicePriority); }

DeviceAllocator& device_allocator() {
  static auto* allocator = new DeviceAllocator();  // leaked: storages name it until the process ends
  return *allocator;
}

}  // namespace devsan::emulate
