#pragma once

#include <cstddef>

#include <c10/core/Allocator.h>

namespace devsan::emulate {

/// Memory that takes addresses and no room: the system gives it a page when the page is first written. What is read
/// before that is zero. A tensor of any size can have it, as long as nobody computes what is in it.
class LazyMemory final : public c10::Allocator {
 public:
  /// Raises RuntimeError where the system has no addresses left (`ulimit -v`, vm.max_map_count).
  c10::DataPtr allocate(std::size_t bytes) override;
  void copy_data(void* dest, const void* src, std::size_t count) const override;
};

LazyMemory& lazy_memory();

/// The bytes of an allocation, by what its deleter is given.
std::size_t lazy_bytes(void* given);

/// The deleter of its allocations, by which they are known.
void release_lazy(void* given);

}  // namespace devsan::emulate
