#pragma once

#include <ATen/core/CachingHostAllocator.h>

namespace devsan::emulate {

/// Host memory that counts as page-locked: ordinary memory whose ranges are written down, so that `is_pinned()` is
/// true of it and of nothing else. Its figures are those of CUDA's caching host allocator
/// (aten/src/ATen/core/CachingHostAllocator.h): blocks of powers of two, kept after use. Times are always 0.
at::HostAllocator& pinned_allocator();

/// Whether `data` lies in memory of `pinned_allocator`, or in a range given to `register_pinned`.
bool is_pinned(const void* data) noexcept;

/// The host's allocation that `data_ptr` of `pinned_allocator` holds; any other `data_ptr` itself.
const c10::DataPtr& memory_under(const c10::DataPtr& data_ptr) noexcept;

/// As cudaHostRegister and cudaHostUnregister.
void register_pinned(const void* data, size_t bytes);
void unregister_pinned(const void* data) noexcept;

/// For a fork: see emulate/runtime/fork.h.
void lock_pinned_memory();
void unlock_pinned_memory();

}  // namespace devsan::emulate
