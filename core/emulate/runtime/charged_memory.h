#pragma once

#include <optional>

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
//
// NOTE [Charged when it is kept]
// What a CPU kernel allocates is not what CUDA's kernel would: it makes copies, columns and tables of its own, and frees
// them before it returns. So the memory of a kernel's call begins pending: it has a header, with the allocator of its GPU
// and no block. It is charged when a tensor of the GPU is made over it (make_virtual_storage, follow_host), and never if
// the kernel frees it. What CUDA's own kernel would take beside its results is in emulate/calls/workspaces.

/// `bytes` of `source` behind a header. The result is labeled `cpu`; its deleter frees the block.
/// @param allocator, block what they are charged with; both null for memory of the host, which only carries its origin;
/// a null block alone makes it pending: see NOTE [Charged when it is kept]
c10::DataPtr allocate_with_header(c10::Allocator& source, size_t bytes, memory::CachingAllocator* allocator,
                                  memory::Block* block, record::Origin origin);

/// Whether an allocation has such a header.
bool is_charged(const c10::DataPtr& data_ptr) noexcept;
/// The same for a raw pointer to the start of an allocation, of ours or of torch's.
bool is_charged(void* data) noexcept;

/// The deleter of memory with a header.
void release_charge(void* data);

/// Whether it waits for its charge: see NOTE [Charged when it is kept].
bool is_pending(const c10::DataPtr& data_ptr) noexcept;

/// Charges a pending allocation with `block` of `allocator`.
void set_charge(const c10::DataPtr& data_ptr, memory::CachingAllocator& allocator, memory::Block* block) noexcept;

/// Whether an allocation of ours was mapped and not written: see NOTE [Tensors without numbers].
bool is_lazy_memory(const c10::DataPtr& data_ptr) noexcept;

/// Whether what an allocation of ours holds was never computed; false for torch's own.
bool is_unknown_memory(const c10::DataPtr& data_ptr) noexcept;
/// Does nothing to torch's own.
void set_unknown_memory(const c10::DataPtr& data_ptr) noexcept;

/// What all booleans in unknown memory stand in for, where that is known: see NOTE [What is so for every element].
std::optional<bool> answer_in(const c10::DataPtr& data_ptr) noexcept;
/// Does nothing to torch's own.
void set_answer(const c10::DataPtr& data_ptr, std::optional<bool> answer) noexcept;

/// The memory block that a charged allocation holds, or null for an uncharged or pending one.
memory::Block* block_of(const c10::DataPtr& data_ptr) noexcept;

/// The memory block of the charged allocation that `address` lies in, or null where it lies in none. It is searched for
/// in memory, back from `address`, a page at a time.
memory::Block* block_at(const void* address) noexcept;

/// An origin as the tag of the block that is charged for it, and back.
[[nodiscard]] constexpr memory::Tag tag_of(record::Origin origin) noexcept {
  return static_cast<memory::Tag>(origin.computed_by) << 32U | origin.placement;
}
[[nodiscard]] constexpr record::Origin origin_of(memory::Tag tag) noexcept {
  return {static_cast<record::PlacementId>(tag), static_cast<record::OperatorId>(tag >> 32U)};
}

/// What an allocation says about where it comes from; unknown for torch's own.
record::Origin origin_of(const c10::DataPtr& data_ptr) noexcept;

/// Has an allocation of ours say another origin. Does nothing to torch's own.
void set_origin(const c10::DataPtr& data_ptr, record::Origin origin) noexcept;

}  // namespace devsan::emulate
