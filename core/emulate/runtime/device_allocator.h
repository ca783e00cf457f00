#pragma once

#include <c10/core/CachingDeviceAllocator.h>

namespace devsan::emulate {

/// torch's allocator of CUDA memory, for emulated GPUs: what `torch.accelerator`'s memory functions and
/// `c10::GetAllocator(kCUDA)` reach. Memory is taken on the calling thread's current device.
class DeviceAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override;
  bool is_simple_data_ptr(const c10::DataPtr& data_ptr) const override;
  void copy_data(void* dest, const void* src, std::size_t count) const override;

  bool initialized() override;
  void emptyCache(c10::MempoolId_t pool) override;
  void recordStream(const c10::DataPtr& data_ptr, c10::Stream stream) override;
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex index) override;
  void resetAccumulatedStats(c10::DeviceIndex index) override;
  void resetPeakStats(c10::DeviceIndex index) override;
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex index) override;

  /// Takes the place of the CUDA allocator that torch has, if any; `remove` gives it back.
  void install();
  void remove();
};

DeviceAllocator& device_allocator();

}  // namespace devsan::emulate
