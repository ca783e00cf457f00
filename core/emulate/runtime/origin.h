#pragma once

#include <vector>

#include <c10/core/Device.h>

#include "emulate/runtime/host_allocator.h"
#include "emulate/runtime/tensor.h"
#include "memory/use.h"
#include "record/recorder.h"

namespace devsan::memory {
struct Block;
}

namespace devsan::emulate {

// NOTE [Origins]
// The memory of a tensor says where it comes from: the placement that put it on its device, in the header of its
// allocation. What an operator computes takes the origin of the operand whose device it takes; that is two numbers to
// copy, and so costs nothing that can be measured. Only what makes a tensor out of none, or copies one from another
// device, is a placement, and captures the stack.
// CPU tensors are noted when a factory makes them, or when they come from a GPU. Their operators are torch's
// own, and what those compute says nothing.

/// Notes that an operator makes a tensor on a GPU out of no tensor.
record::Origin note_made(record::OperatorId op, c10::DeviceIndex index);

/// Notes that `source`, on an emulated GPU, is copied to the host.
record::Origin note_moved_to_host(record::OperatorId op, const at::Tensor& source);

/// Notes that a tensor on an emulated GPU is filled from `source`: where it has just been made for that, it is a copy.
void note_filled(record::OperatorId op, const at::Tensor& target, const at::Tensor& source);

/// Notes that `op` writes what it computes from `source` into `target`: where that has just been made for it, as by the
/// operators that torch writes with others (mv, one_hot), the result comes from where `source` does.
void note_written(record::OperatorId op, const at::Tensor& target, const at::Tensor& source);

/// Notes that a factory makes a tensor on the host, unless it does so for an operator that is noted already: then what is
/// open is said again.
record::Origin note_made_on_host(record::OperatorId op);

/// Has `result` say that it comes from where `operand` was placed, and was computed by `op` there.
void note_computed_from(record::OperatorId op, const at::Tensor& result, const at::Tensor& operand);

/// Has what `op` computes come from `operand`, unless an operand before it said where it comes from: see NOTE [Origins].
void take_origin(record::Origin& origin, record::OperatorId op, const at::Tensor& operand) noexcept;

/// Adds the placements that memory of GPUs carries.
void collect_live(std::vector<record::PlacementId>& live);

/// What the memory of `tensor` says; unknown for tensors without storage or not allocated here.
record::Origin origin_of(const at::Tensor& tensor) noexcept;

/// Has the memory of `tensor` on a GPU say what it is used for.
void set_use(const at::Tensor& tensor, memory::Use use) noexcept;

/// The block that the memory of `tensor` is charged with; null for tensors without storage or not on an emulated GPU.
const memory::Block* block_of(const at::Tensor& tensor) noexcept;

}  // namespace devsan::emulate
