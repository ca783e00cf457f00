#include "emulate/runtime/host_allocator.h"

#include <atomic>
#include <cstring>

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include "emulate/runtime/charged_memory.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/full_size/lazy_memory.h"
#include "emulate/runtime/gpu_trace.h"
#include "emulate/runtime/host_watch.h"
#include "emulate/runtime/kernel_memory.h"
#include "emulate/runtime/momentary.h"
#include "emulate/runtime/peak_cause.h"
#include "emulate/runtime/stream.h"
#include "memory/out_of_memory.h"

namespace devsan::emulate {
namespace {

using Tell = c10::impl::PyInterpreterVTable;

constexpr c10::DeviceIndex kNoDevice = -1;
thread_local c10::DeviceIndex t_charged_device = kNoDevice;
thread_local ExpectedResults* t_results = nullptr;  ///< null: charged at once
thread_local record::Origin t_origin;

c10::Allocator* g_torch_allocator = nullptr;
std::atomic<bool> g_zeros{false};

// glibc maps what is larger anew (DEFAULT_MMAP_THRESHOLD_MAX in malloc/malloc.c), and the kernel maps zeros.
constexpr size_t kAlwaysMapped = size_t{32} << 20;

c10::DataPtr begun(c10::DataPtr data, size_t bytes) {
  if (C10_UNLIKELY(g_zeros.load(std::memory_order_relaxed)) && bytes != 0 && bytes <= kAlwaysMapped) {
    std::memset(data.get(), 0, bytes);
  }
  return data;
}

// What is smaller is charged when it is kept, without a look at the budget before: a host has that much memory to spare.
constexpr size_t kLarge = size_t{1} << 20;

// SetAllocator keeps the allocator of the highest priority; torch's own are registered at 0.
constexpr std::uint8_t kPriority = 100;

/// The deleter of raw allocations, charged or not.
void release_raw(void* data) {
  if (is_charged(data)) {
    release_charge(data);
  } else {
    g_torch_allocator->raw_deleter()(data);
  }
}

/// Memory of the machine for a GPU's tensor, to be written.
c10::DataPtr taken(size_t bytes, memory::CachingAllocator* allocator, memory::Block* block) {
  if (C10_UNLIKELY(bytes > kLarge)) before_taking_from_host(bytes, Taker::kGpu);
  return begun(allocate_with_header(*g_torch_allocator, bytes, allocator, block, t_origin), bytes);
}

c10::DataPtr uncharged(size_t bytes, bool unwritten) {
  return unwritten ? allocate_with_header(lazy_memory(), bytes, nullptr, nullptr, {})
                   : g_torch_allocator->allocate(bytes);
}

/// The same memory to those who ask for an allocator.
class UnwrittenMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override { return host_allocator().allocate_unwritten(bytes); }
  void copy_data(void* dest, const void* src, std::size_t count) const override { default_copy_data(dest, src, count); }
};

memory::Block* take(EmulatedDevice& target, size_t bytes, record::Origin origin) {
  try {
    memory::Block* block = target.allocator.allocate(bytes, current_stream_id(target.index), /*stack=*/0,
                                                     tag_of(origin), computes_for_a_moment());
    tell_peak_cause(target.allocator);
    return block;
  } catch (const memory::OutOfMemory& error) {
    TORCH_CHECK_WITH(OutOfMemoryError, false, error.what());
  }
}

}  // namespace

c10::DataPtr HostAllocator::allocate(size_t bytes) {
  if (C10_UNLIKELY(t_charged_device != kNoDevice)) {
    return C10_LIKELY(t_results != nullptr) ? allocate_pending(bytes, t_charged_device, Source::kTorch)
                                            : allocate_charged(bytes, t_charged_device, Source::kTorch);
  }
  if (C10_UNLIKELY(bytes > kLarge)) before_taking_from_host(bytes, Taker::kProgram);
  if (C10_LIKELY(t_origin.placement == record::kUnknownPlacement || bytes == 0)) {
    return begun(g_torch_allocator->allocate(bytes), bytes);
  }
  return begun(allocate_with_header(*g_torch_allocator, bytes, nullptr, nullptr, t_origin), bytes);
}

c10::DataPtr HostAllocator::allocate_unwritten(size_t bytes) {
  if (t_charged_device != kNoDevice) {
    return t_results != nullptr ? allocate_pending(bytes, t_charged_device, Source::kUnwritten)
                                : allocate_charged(bytes, t_charged_device, Source::kUnwritten);
  }
  if (bytes == 0) return g_torch_allocator->allocate(0);
  return allocate_with_header(lazy_memory(), bytes, nullptr, nullptr, t_origin);
}

c10::DataPtr HostAllocator::allocate_charged(size_t bytes, c10::DeviceIndex index, Source source) {
  if (bytes == 0) return g_torch_allocator->allocate(0);
  if (C10_UNLIKELY(KernelMemory::current() != nullptr)) return allocate_pending(bytes, index, source);
  EmulatedDevice* found = find_device(index);
  // A tensor may outlive its emulation: what it is read with has no budget any more.
  if (C10_UNLIKELY(found == nullptr)) return uncharged(bytes, source == Source::kUnwritten);
  EmulatedDevice& target = *found;
  memory::Block* block = take(target, bytes, t_origin);
  c10::DataPtr data;
  try {
    data = C10_UNLIKELY(source == Source::kUnwritten)
               ? allocate_with_header(lazy_memory(), bytes, &target.allocator, block, t_origin)
               : taken(bytes, &target.allocator, block);
  } catch (...) {
    target.allocator.free(block);
    throw;
  }
  trace(&Tell::trace_gpu_memory_allocation, reinterpret_cast<std::uintptr_t>(data.get()));
  return data;
}

c10::DataPtr HostAllocator::allocate_pending(size_t bytes, c10::DeviceIndex index, Source source) {
  if (bytes == 0) return g_torch_allocator->allocate(0);
  EmulatedDevice* target = find_device(index);
  if (C10_UNLIKELY(target == nullptr)) return uncharged(bytes, source == Source::kUnwritten);
  if (C10_UNLIKELY(bytes > kLarge && KernelMemory::current() == nullptr &&
                   !target->allocator.has_room(bytes, current_stream_id(index)) && t_results->take(bytes))) {
    return allocate_charged(bytes, index, source);
  }
  if (C10_UNLIKELY(source == Source::kUnwritten)) {
    return allocate_with_header(lazy_memory(), bytes, &target->allocator, nullptr, t_origin);
  }
  return taken(bytes, &target->allocator, nullptr);
}

void charge_if_pending(const c10::DataPtr& data_ptr, size_t bytes, c10::Device device) {
  if (C10_LIKELY(!is_pending(data_ptr)) || C10_UNLIKELY(KernelMemory::current() != nullptr)) return;
  EmulatedDevice* target = find_device(device.index());
  if (C10_UNLIKELY(target == nullptr)) return;
  set_charge(data_ptr, target->allocator, take(*target, bytes, origin_of(data_ptr)));
}

bool HostAllocator::is_simple_data_ptr(const c10::DataPtr& data_ptr) const {
  return !is_charged(data_ptr) && g_torch_allocator->is_simple_data_ptr(data_ptr);
}

c10::DeleterFnPtr HostAllocator::raw_deleter() const { return &release_raw; }

void HostAllocator::copy_data(void* dest, const void* src, std::size_t count) const {
  g_torch_allocator->copy_data(dest, src, count);
}

void HostAllocator::install() {
  if (g_torch_allocator != nullptr) return;
  g_torch_allocator = c10::GetCPUAllocator();
  c10::SetCPUAllocator(this, kPriority);
}

void begin_with_zeros(bool wanted) { g_zeros.store(wanted, std::memory_order_relaxed); }

HostAllocator& host_allocator() {
  // Leaked on purpose: storages that outlive everything else still name it as their allocator.
  static auto* allocator = new HostAllocator();
  return *allocator;
}

c10::Allocator& unwritten_memory() {
  static auto* allocator = new UnwrittenMemory();  // leaked as the other is
  return *allocator;
}

OriginScope::OriginScope(record::Origin origin) noexcept : previous_(t_origin) { t_origin = origin; }

OriginScope::~OriginScope() { t_origin = previous_; }

bool has_origin() noexcept { return t_charged_device != kNoDevice || t_origin.placement != record::kUnknownPlacement; }

record::Origin current_origin() noexcept { return t_origin; }

DeviceScope::DeviceScope(c10::DeviceIndex index, record::Origin origin, ExpectedResults* results) noexcept
    : previous_(t_charged_device), previous_results_(t_results), origin_(origin) {
  t_charged_device = index;
  t_results = results;
}

DeviceScope::~DeviceScope() {
  t_charged_device = previous_;
  t_results = previous_results_;
}

}  // namespace devsan::emulate
