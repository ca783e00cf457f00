#pragma once

#include <c10/core/Allocator.h>

#include "memory/caching_allocator.h"
#include "record/placement.h"

namespace devsan::emulate {

// NOTE [The header of a charged allocation]
// What an allocation is charged with, and its origin, stand in a header before its first byte, so that the context of
// its DataPtr is the data pointer itself. That is what `raw_allocate` asks for (oneDNN's scratch memory comes that way), and it spares an
// allocation. `raw_deallocate` gives only a pointer, which may also be torch's own: a header is known by its seal, a
// hash of the address with a secret, which is erased when the memory is freed. Charged data never starts on a page, so
// that the bytes before any pointer that could be charged are on the pointer's own page and can be read.

/// `bytes` of `source` behind a header. The result is labeled `cpu`; its deleter frees the block.
/// @param allocator, block what they are charged with; both null for memory of the host, which only carries its origin
c10::DataPtr allocate_with_header(c10::Allocator& source, size_t bytes, memory::CachingAllocator* allocator,
                                  memory::Block* block, record::Origin origin);

/// Whether an allocation has such a header.
bool is_charged(const c10::DataPtr& data_ptr) noexcept;
/// The same for a raw pointer to the start of an allocation, of ours or of torch's.
bool is_charged(void* data) noexcept;

/// The deleter of memory with a header.
void release_charge(void* data);

/// The memory block that a charged allocation holds, or null for an uncharged one.
memory::Block* block_of(const c10::DataPtr& data_ptr) noexcept;

/// The memory block of the charged allocation that `address` lies in, or null where it lies in none. It is searched for
/// in memory, back from `address`, a page at a time.
memory::Block* block_at(const void* address) noexcept;

/// What an allocation says about where it comes from; unknown for torch's own.
record::Origin origin_of(const c10::DataPtr& data_ptr) noexcept;

/// Has an allocation of ours say another origin. Does nothing to torch's own.
void set_origin(const c10::DataPtr& data_ptr, record::Origin origin) noexcept;

}  // namespace devsan::emulate
