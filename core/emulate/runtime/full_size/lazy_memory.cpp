#include "emulate/runtime/full_size/lazy_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include <c10/util/Exception.h>

#include "memory/out_of_memory.h"

namespace devsan::emulate {

namespace {

/// Before what is handed out: the length of the mapping.
constexpr std::size_t kPrefix = 64;

std::byte* mapping_of(void* given) { return static_cast<std::byte*>(given) - kPrefix; }

}  // namespace

std::size_t lazy_bytes(void* given) {
  std::size_t length = 0;
  std::memcpy(&length, mapping_of(given), sizeof(length));
  return length - kPrefix;
}

void release_lazy(void* given) { munmap(mapping_of(given), lazy_bytes(given) + kPrefix); }

c10::DataPtr LazyMemory::allocate(std::size_t bytes) {
  const std::size_t length = bytes + kPrefix;
  void* base = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TORCH_CHECK(base != MAP_FAILED, "devsan: expected addresses for ", memory::format_size(bytes),
              " of a tensor without numbers, got: ", std::strerror(errno));
  madvise(base, length, MADV_NOHUGEPAGE);  // a header alone would take 2 MiB
  std::memcpy(base, &length, sizeof(length));
  void* given = static_cast<std::byte*>(base) + kPrefix;
  return {given, given, &release_lazy, c10::Device(c10::DeviceType::CPU)};
}

void LazyMemory::copy_data(void* dest, const void* src, std::size_t count) const {
  default_copy_data(dest, src, count);
}

LazyMemory& lazy_memory() {
  static auto* allocator = new LazyMemory();  // leaked: storages name it until the process ends
  return *allocator;
}

}  // namespace devsan::emulate
