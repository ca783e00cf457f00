#include "emulate/runtime/hooks.h"

#include <atomic>
#include <cstring>

#include <ATen/detail/CUDAHooksInterface.h>

#include "emulate/runtime/charged_memory.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/device_allocator.h"
#include "emulate/runtime/generator.h"
#include "emulate/runtime/pinned_memory.h"

namespace devsan::emulate {
namespace {

// cuFFT's default from CUDA 10 on (aten/src/ATen/native/cuda/CuFFTPlanCache.h).
std::atomic<int64_t> g_plan_cache_max_size{4096};

/// aten/src/ATen/cuda/CUDADevice.h, getDeviceFromPtr. To CUDA page-locked memory is the device's that locked it; here it
/// is the current one's.
at::Device device_of_address(const void* address) {
  const memory::Block* block = block_at(address);
  TORCH_CHECK(block != nullptr || is_pinned(address),
              "The specified pointer resides on host memory and is not registered with any CUDA device.");
  const int index = block != nullptr ? block->device : emulate::current_device();
  return {at::DeviceType::CUDA, static_cast<at::DeviceIndex>(index)};
}

/// Stateless: all that it knows stands in emulate/runtime/device.h.
struct Hooks final : at::CUDAHooksInterface {
  void init() const override {}
  bool hasCUDA() const override { return device_count() > 0; }
  bool hasCUDART() const override { return device_count() > 0; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return device_count() > 0; }
  bool hasPrimaryContext(c10::DeviceIndex index) const override { return index >= 0 && index < device_count(); }

  at::DeviceIndex current_device() const override { return emulate::current_device(); }
  int getNumGPUs() const override { return device_count(); }
  at::DeviceIndex deviceCount() const override { return device_count(); }
  void setCurrentDevice(at::DeviceIndex index) const override { set_current_device(index); }
  at::DeviceIndex getCurrentDevice() const override { return emulate::current_device(); }
  at::DeviceIndex exchangeDevice(at::DeviceIndex index) const override {
    const at::DeviceIndex before = emulate::current_device();
    set_current_device(index);
    return before;
  }
  at::DeviceIndex maybeExchangeDevice(at::DeviceIndex index) const override {
    return index < 0 ? emulate::current_device() : exchangeDevice(index);
  }
  void deviceSynchronize(at::DeviceIndex index) const override { device(index); }

  const at::Generator& getDefaultGenerator(at::DeviceIndex index) const override {
    return device(index == -1 ? emulate::current_device() : index).generator;
  }
  at::Generator getNewGenerator(at::DeviceIndex index) const override {
    const at::DeviceIndex chosen = index == -1 ? emulate::current_device() : index;
    device(chosen);
    return emulate::make_generator(chosen);
  }

  // Asked for by torch.__config__.show() and torch.backends.cuda.cufft_plan_cache; no library is behind the answers.
  std::string showConfig() const override { return {}; }
  int64_t cuFFTGetPlanCacheMaxSize(at::DeviceIndex /*index*/) const override { return g_plan_cache_max_size; }
  void cuFFTSetPlanCacheMaxSize(at::DeviceIndex /*index*/, int64_t size) const override {
    g_plan_cache_max_size = size;
  }
  int64_t cuFFTGetPlanCacheSize(at::DeviceIndex /*index*/) const override { return 0; }
  void cuFFTClearPlanCache(at::DeviceIndex /*index*/) const override {}

  at::Device getDeviceFromPtr(void* data) const override { return device_of_address(data); }
  bool isPinnedPtr(const void* data) const override { return is_pinned(data); }
  at::Allocator* getPinnedMemoryAllocator() const override { return &pinned_allocator(); }
  at::Allocator* getCUDADeviceAllocator() const override { return &device_allocator(); }
};

static_assert(sizeof(Hooks) == sizeof(at::CUDAHooksInterface), "Hooks must add no state to torch's object");

void* g_torch_table = nullptr;

// setHostAllocator keeps the allocator of the highest priority; torch's own is registered at 0.
constexpr std::uint8_t kPinnedPriority = 100;
at::HostAllocator* g_torch_host_allocator = nullptr;

void** table_of_torch_hooks() {
  // NOLINTNEXTLINE: see NOTE [Taking over the hooks].
  return reinterpret_cast<void**>(const_cast<at::CUDAHooksInterface*>(&at::detail::getCUDAHooks()));
}

}  // namespace

// NOTE [Taking over the hooks]
// torch looks its CUDA hooks up once, while it is imported and in both builds before any extension can load, and
// keeps the object for good (aten/src/ATen/detail/CUDAHooksInterface.cpp). The object has no state that this version
// of torch reads from outside, so its virtual table is all that need change, and putting the old one back undoes it.
// This function and the next are the only place that does so.
void install_hooks() {
  if (g_torch_table != nullptr) return;
  g_torch_host_allocator = at::getHostAllocator(at::kCUDA);
  at::setHostAllocator(at::kCUDA, &pinned_allocator(), kPinnedPriority);
  static const Hooks hooks;
  void* ours = nullptr;
  std::memcpy(&ours, static_cast<const void*>(&hooks), sizeof(ours));
  void** table = table_of_torch_hooks();
  g_torch_table = *table;
  *table = ours;
}

void remove_hooks() {
  if (g_torch_table == nullptr) return;
  at::setHostAllocator(at::kCUDA, g_torch_host_allocator, kPinnedPriority);
  *table_of_torch_hooks() = g_torch_table;
  g_torch_table = nullptr;
}

}  // namespace devsan::emulate
