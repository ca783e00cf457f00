#include "emulate/runtime/full_size/lazy_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include <c10/util/Exception.h>

#include "memory/out_of_memory.h"

namespace devsan::emulate {

// The first bytes of a mapping hold its length; nobody else uses them, since a header follows before the data.
void release_lazy(void* base) {
  std::size_t length = 0;
  std::memcpy(&length, base, sizeof(length));
  munmap(base, length);
}

c10::DataPtr LazyMemory::allocate(std::size_t bytes) {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TORCH_CHECK(base != MAP_FAILED, "devsan: expected addresses for ", memory::format_size(bytes),
              " of a tensor without numbers, got: ", std::strerror(errno));
  madvise(base, bytes, MADV_NOHUGEPAGE);  // a header alone would take 2 MiB
  std::memcpy(base, &bytes, sizeof(bytes));
  return {base, base, &release_lazy, c10::Device(c10::DeviceType::CPU)};
}

void LazyMemory::copy_data(void* dest, const void* src, std::size_t count) const {
  default_copy_data(dest, src, count);
}

LazyMemory& lazy_memory() {
  static auto* allocator = new LazyMemory();  // leaked: storages name it until the process ends
  return *allocator;
}

}  // namespace devsan::emulate
