#include "emulate/runtime/host_allocator.h"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include <c10/core/CPUAllocator.h>
#include <c10/core/GeneratorImpl.h>
#include <c10/util/Exception.h>

#include "emulate/runtime/device.h"
#include "emulate/runtime/gpu_trace.h"
#include "emulate/runtime/stream.h"
#include "memory/out_of_memory.h"
#include "record/living_list.h"

namespace devsan::emulate {
namespace {

using Tell = c10::impl::PyInterpreterVTable;

constexpr c10::DeviceIndex kNoDevice = -1;
thread_local c10::DeviceIndex t_charged_device = kNoDevice;
thread_local record::Origin t_origin;

c10::Allocator* g_torch_allocator = nullptr;

// SetAllocator keeps the allocator of the highest priority; torch's own are registered at 0.
constexpr std::uint8_t kPriority = 100;

// NOTE [The header of a charged allocation]
// What an allocation is charged with, and its origin, stand in a header before its first byte, so that the context of its DataPtr is the
// data pointer itself. That is what `raw_allocate` asks for (oneDNN's scratch memory comes that way), and it spares an
// allocation. `raw_deallocate` gives only a pointer, which may also be torch's own: a header is known by its seal, a
// hash of the address with a secret, which is erased when the memory is freed. Charged data never starts on a page, so
// that the bytes before any pointer that could be charged are on the pointer's own page and can be read.
struct Memory {
  void* base;
  c10::DeleterFnPtr release;
};

struct Header {
  std::uint64_t seal;
  memory::CachingAllocator* allocator;  ///< null for memory of the host, which only carries an origin
  memory::Block* block;
  Memory memory;
  record::CarriedOrigin
      carried;  ///< of memory of the host, in the LivingList; that of a GPU has its placement as block->tag too
};

constexpr std::size_t kAlignment = 64;  // c10::gAlignment: what CPU kernels count on
constexpr std::size_t kPage = 4096;
static_assert(sizeof(Header) <= kAlignment);

// Room for the header, for a step off a page's start, and for alignment.
constexpr std::size_t kOverhead = 3 * kAlignment;

// torch takes all memory from posix_memalign, which costs a small tensor more than all else about it. Small charged
// memory comes from malloc, and is aligned here.
constexpr std::size_t kSmall = 4096;

Memory take_memory(std::size_t bytes) {
  if (bytes <= kSmall) {
    void* base = std::malloc(bytes);
    if (base != nullptr) return {base, &std::free};
  }
  c10::DataPtr memory = g_torch_allocator->allocate(bytes);
  const c10::DeleterFnPtr release = memory.get_deleter();
  return {memory.release_context(), release};
}

void* first_after_header(void* base) {
  auto address = (reinterpret_cast<std::uintptr_t>(base) + 2 * kAlignment - 1) / kAlignment * kAlignment;
  if (address % kPage == 0) address += kAlignment;
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

Header* header_of(void* data) { return reinterpret_cast<Header*>(static_cast<std::byte*>(data) - kAlignment); }

std::uint64_t seal_of(std::uintptr_t data) {
  static const std::uint64_t secret = c10::detail::getNonDeterministicRandom() | 1U;
  return (data ^ secret) * 0x9E3779B97F4A7C15ULL;
}

std::uint64_t seal_of(const void* data) { return seal_of(reinterpret_cast<std::uintptr_t>(data)); }

/// By the kernel, which says where there is no memory, and reads what the address sanitizer would report.
bool read_page(std::uintptr_t start, std::array<std::byte, kPage>& page) noexcept {
  const iovec target{page.data(), kPage};
  const iovec source{reinterpret_cast<void*>(start), kPage};  // NOLINT(performance-no-int-to-ptr)
  return process_vm_readv(getpid(), &target, 1, &source, 1, 0) == static_cast<ssize_t>(kPage);
}

/// Reads before a pointer that torch's allocator may have made, which the address sanitizer would report.
__attribute__((no_sanitize("address"))) bool is_charged(void* data) {
  if (data == nullptr || reinterpret_cast<std::uintptr_t>(data) % kPage == 0) return false;
  return header_of(data)->seal == seal_of(data);
}

void release_charge(void* data) {
  const Header header = *header_of(data);
  header_of(data)->seal = 0;
  if (header.allocator != nullptr) {
    trace(&Tell::trace_gpu_memory_deallocation, reinterpret_cast<std::uintptr_t>(data));
    header.allocator->free(header.block);
  } else {
    record::LivingList::instance().leave(header_of(data)->carried);
  }
  header.memory.release(header.memory.base);
}

/// The deleter of raw allocations, charged or not.
void release_raw(void* data) {
  if (is_charged(data)) {
    release_charge(data);
  } else {
    g_torch_allocator->raw_deleter()(data);
  }
}

c10::DataPtr with_header(Memory memory, memory::CachingAllocator* allocator, memory::Block* block,
                         record::Origin origin) {
  void* data = first_after_header(memory.base);
  auto* header = new (header_of(data)) Header{seal_of(data), allocator, block, memory, {origin}};
  if (allocator == nullptr) record::LivingList::instance().enter(header->carried);
  return {data, data, &release_charge, c10::Device(c10::DeviceType::CPU)};
}

memory::Block* take(EmulatedDevice& target, size_t bytes) {
  try {
    return target.allocator.allocate(bytes, current_stream_id(target.index), /*stack=*/0, t_origin.placement);
  } catch (const memory::OutOfMemory& error) {
    TORCH_CHECK_WITH(OutOfMemoryError, false, error.what());
  }
}

}  // namespace

c10::DataPtr HostAllocator::allocate(size_t bytes) {
  if (C10_UNLIKELY(t_charged_device != kNoDevice)) return allocate_charged(bytes, t_charged_device);
  if (C10_LIKELY(t_origin.placement == record::kUnknownPlacement || bytes == 0)) {
    return g_torch_allocator->allocate(bytes);
  }
  return with_header(take_memory(bytes + kOverhead), nullptr, nullptr, t_origin);
}

c10::DataPtr HostAllocator::allocate_charged(size_t bytes, c10::DeviceIndex index) {
  if (bytes == 0) return g_torch_allocator->allocate(0);
  EmulatedDevice* found = find_device(index);
  // A tensor may outlive its emulation: what it is read with has no budget any more.
  if (C10_UNLIKELY(found == nullptr)) return g_torch_allocator->allocate(bytes);
  EmulatedDevice& target = *found;
  memory::Block* block = take(target, bytes);
  Memory memory{};
  try {
    memory = take_memory(bytes + kOverhead);
  } catch (...) {
    target.allocator.free(block);
    throw;
  }
  c10::DataPtr data = with_header(memory, &target.allocator, block, t_origin);
  trace(&Tell::trace_gpu_memory_allocation, reinterpret_cast<std::uintptr_t>(data.get()));
  return data;
}

bool HostAllocator::is_simple_data_ptr(const c10::DataPtr& data_ptr) const {
  return data_ptr.get_deleter() != &release_charge && g_torch_allocator->is_simple_data_ptr(data_ptr);
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

HostAllocator& host_allocator() {
  // Leaked on purpose: storages that outlive everything else still name it as their allocator.
  static auto* allocator = new HostAllocator();
  return *allocator;
}

memory::Block* block_of(const c10::DataPtr& data_ptr) noexcept {
  if (data_ptr.get_deleter() != &release_charge) return nullptr;
  return header_of(data_ptr.get_context())->block;
}

memory::Block* block_at(const void* address) noexcept {
  // The nearest header before the address is that of its allocation, or of one that ends before it.
  auto header_at = reinterpret_cast<std::uintptr_t>(address) / kAlignment * kAlignment - kAlignment;
  std::array<std::byte, kPage> page{};
  for (std::uintptr_t start = header_at / kPage * kPage; start != 0; start -= kPage) {
    if (!read_page(start, page)) return nullptr;
    for (; header_at >= start; header_at -= kAlignment) {
      Header header{};
      std::memcpy(&header, page.data() + (header_at - start), sizeof(Header));
      const std::uintptr_t data = header_at + kAlignment;
      if (header.seal != seal_of(data)) continue;
      const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) - data;
      return header.block != nullptr && offset < header.block->requested_size ? header.block : nullptr;
    }
  }
  return nullptr;
}

record::Origin origin_of(const c10::DataPtr& data_ptr) noexcept {
  return data_ptr.get_deleter() == &release_charge ? header_of(data_ptr.get_context())->carried.origin
                                                   : record::Origin{};
}

void set_origin(const c10::DataPtr& data_ptr, record::Origin origin) noexcept {
  if (data_ptr.get_deleter() != &release_charge) return;
  Header& header = *header_of(data_ptr.get_context());
  if (header.allocator == nullptr) {
    record::LivingList::instance().change(header.carried, origin);
    return;
  }
  if (header.carried.origin.placement != origin.placement) header.allocator->set_tag(header.block, origin.placement);
  header.carried.origin = origin;
}

OriginScope::OriginScope(record::Origin origin) noexcept : previous_(t_origin) { t_origin = origin; }

OriginScope::~OriginScope() { t_origin = previous_; }

bool has_origin() noexcept { return t_charged_device != kNoDevice || t_origin.placement != record::kUnknownPlacement; }

record::Origin current_origin() noexcept { return t_origin; }

DeviceScope::DeviceScope(c10::DeviceIndex index, record::Origin origin) noexcept
    : previous_(t_charged_device), origin_(origin) {
  t_charged_device = index;
}

DeviceScope::~DeviceScope() { t_charged_device = previous_; }

}  // namespace devsan::emulate
