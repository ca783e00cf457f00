#pragma once

#include <ATen/core/CachingHostAllocator.h>

namespace devsan::emulate {

/// Host memory that counts as page-locked: ordinary memory whose ranges are written down, so that `is_pinned()` is
/// true of it and of nothing else. Its figures are those of CUDA's caching host allocator
/// (aten/src/ATen/core/CachingHostAllocator.h): blocks of powers of two, kept after use. Times are always 0.
at::HostAllocator& pinned_allocator();

/// Whether `data` lies in memory of `pinned_allocator`, or in a range given to `register_pinned`.
bool is_pinned(const void* data) noexcept;

/// As cudaHostRegister and cudaHostUnregister.
void register_pinned(const void* data, size_t bytes);
void unregister_pinned(const void* data) noexcept;

/// For a fork: see emulate/fork.h.
void lock_pinned_memory();
void unlock_pinned_memory();

}  // namespace devsan::emulate
