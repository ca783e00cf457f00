#include "emulate/runtime/charged_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include <c10/core/GeneratorImpl.h>

#include "emulate/runtime/full_size/lazy_memory.h"
#include "emulate/runtime/full_size/offloaded.h"
#include "emulate/runtime/gpu_trace.h"
#include "order/monitor.h"
#include "record/live_origins.h"

namespace devsan::emulate {
namespace {

using Tell = c10::impl::PyInterpreterVTable;

struct Memory {
  void* base;
  c10::DeleterFnPtr release;
};

struct Header {
  std::uint64_t seal;
  memory::CachingAllocator* allocator;  ///< null for memory of the host, which only carries an origin
  memory::Block* block;                 ///< null beside an allocator: pending
  c10::DeleterFnPtr release;
  std::uint32_t offset;  ///< of the data from what is released
  bool is_unknown;       ///< see NOTE [Tensors without numbers]
  bool has_answer;       ///< see NOTE [What is so for every element]
  bool answer;
  record::CarriedOrigin carried;  ///< of memory of the host, in LiveOrigins; that of a GPU is block->tag too
};

constexpr std::size_t kAlignment = 64;  // c10::gAlignment: what CPU kernels count on
constexpr std::size_t kPage = 4096;
static_assert(sizeof(Header) <= kAlignment);

// Room for the header, for a step off a page's start, and for alignment.
constexpr std::size_t kOverhead = 3 * kAlignment;

// torch takes all memory from posix_memalign, which costs a small tensor more than all else about it. Small charged
// memory comes from malloc, and is aligned here.
constexpr std::size_t kSmall = 4096;

Memory take_memory(c10::Allocator& source, std::size_t bytes) {
  if (bytes <= kSmall && &source != &lazy_memory()) {
    void* base = std::malloc(bytes);
    if (base != nullptr) return {base, &std::free};
  }
  c10::DataPtr memory = source.allocate(bytes);
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

}  // namespace

/// Reads before a pointer that torch's allocator may have made, which the address sanitizer would report.
__attribute__((no_sanitize("address"))) bool is_charged(void* data) noexcept {
  if (data == nullptr || reinterpret_cast<std::uintptr_t>(data) % kPage == 0) return false;
  return header_of(data)->seal == seal_of(data);
}

bool is_charged(const c10::DataPtr& data_ptr) noexcept { return data_ptr.get_deleter() == &release_charge; }

void release_charge(void* data) {
  const Header header = *header_of(data);
  header_of(data)->seal = 0;
  if (header.block != nullptr) {
    trace(&Tell::trace_gpu_memory_deallocation, reinterpret_cast<std::uintptr_t>(data));
    if (C10_UNLIKELY(order::Monitor::is_watching())) {
      const memory::Block& block = *header.block;
      order::Monitor::instance().freed(reinterpret_cast<std::uintptr_t>(data), block.size,
                                       {block.device, static_cast<std::int64_t>(block.stream)}, block.stream_uses);
    }
    header.allocator->free(header.block);
  } else if (header.allocator == nullptr) {
    record::LiveOrigins::instance().leave(header_of(data)->carried);
  }
  void* base = static_cast<std::byte*>(data) - header.offset;
  if (header.allocator == nullptr && header.release == &release_lazy) {
    Offloaded::give(static_cast<std::int64_t>(lazy_bytes(base)));
  }
  header.release(base);
}

c10::DataPtr allocate_with_header(c10::Allocator& source, size_t bytes, memory::CachingAllocator* allocator,
                                  memory::Block* block, record::Origin origin) {
  const Memory memory = take_memory(source, bytes + kOverhead);
  void* data = first_after_header(memory.base);
  const auto offset = static_cast<std::uint32_t>(static_cast<std::byte*>(data) - static_cast<std::byte*>(memory.base));
  auto* header = new (header_of(data))
      Header{seal_of(data), allocator, block, memory.release, offset, false, false, false, {origin}};
  if (allocator == nullptr) {
    record::LiveOrigins::instance().enter(header->carried);
    if (memory.release == &release_lazy) Offloaded::take(static_cast<std::int64_t>(lazy_bytes(memory.base)));
  }
  return {data, data, &release_charge, c10::Device(c10::DeviceType::CPU)};
}

bool is_pending(const c10::DataPtr& data_ptr) noexcept {
  if (!is_charged(data_ptr)) return false;
  const Header* header = header_of(data_ptr.get_context());
  return header->block == nullptr && header->allocator != nullptr;
}

void set_charge(const c10::DataPtr& data_ptr, memory::CachingAllocator& allocator, memory::Block* block) noexcept {
  Header* header = header_of(data_ptr.get_context());
  header->allocator = &allocator;
  header->block = block;
  trace(&Tell::trace_gpu_memory_allocation, reinterpret_cast<std::uintptr_t>(data_ptr.get()));
}

bool is_lazy_memory(const c10::DataPtr& data_ptr) noexcept {
  return is_charged(data_ptr) && header_of(data_ptr.get_context())->release == &release_lazy;
}

bool is_unknown_memory(const c10::DataPtr& data_ptr) noexcept {
  return is_charged(data_ptr) && header_of(data_ptr.get_context())->is_unknown;
}

void set_unknown_memory(const c10::DataPtr& data_ptr) noexcept {
  if (is_charged(data_ptr)) header_of(data_ptr.get_context())->is_unknown = true;
}

std::optional<bool> answer_in(const c10::DataPtr& data_ptr) noexcept {
  if (!is_charged(data_ptr) || !header_of(data_ptr.get_context())->has_answer) return std::nullopt;
  return header_of(data_ptr.get_context())->answer;
}

void set_answer(const c10::DataPtr& data_ptr, std::optional<bool> answer) noexcept {
  if (!is_charged(data_ptr)) return;
  Header* header = header_of(data_ptr.get_context());
  header->has_answer = answer.has_value();
  header->answer = answer.value_or(false);
}

memory::Block* block_of(const c10::DataPtr& data_ptr) noexcept {
  if (!is_charged(data_ptr)) return nullptr;
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
  return is_charged(data_ptr) ? header_of(data_ptr.get_context())->carried.origin : record::Origin{};
}

void set_origin(const c10::DataPtr& data_ptr, record::Origin origin) noexcept {
  if (!is_charged(data_ptr)) return;
  Header& header = *header_of(data_ptr.get_context());
  if (header.allocator == nullptr) {
    record::LiveOrigins::instance().change(header.carried, origin);
    return;
  }
  const bool changes = tag_of(header.carried.origin) != tag_of(origin);
  if (changes && header.block != nullptr) header.allocator->set_tag(header.block, tag_of(origin));
  header.carried.origin = origin;
}

}  // namespace devsan::emulate
