#pragma once

#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include "emulate/calls/workspaces.h"
#include "memory/size_rules.h"

namespace devsan::emulate {

/// The full name of an operator, and what its kernel takes.
using WorkspaceRow = std::pair<const char*, decltype(Workspace::bytes)>;

/// A family each, in the order of docs/reference/memory.md.
c10::ArrayRef<WorkspaceRow> intermediate_workspaces();
c10::ArrayRef<WorkspaceRow> sort_workspaces();
c10::ArrayRef<WorkspaceRow> choice_workspaces();
c10::ArrayRef<WorkspaceRow> scan_workspaces();
c10::ArrayRef<WorkspaceRow> reduction_workspaces();
c10::ArrayRef<WorkspaceRow> index_workspaces();

/// Of an index, and of a sum of whole numbers.
inline constexpr std::size_t kLongBytes = sizeof(std::int64_t);

[[nodiscard]] inline std::size_t count_of(const at::Tensor& tensor) { return static_cast<std::size_t>(tensor.numel()); }

/// Whether an optional argument holds a tensor: see is_given in emulate/runtime/tensor.h.
[[nodiscard]] inline bool is_given(const c10::IValue& value) { return value.isTensor() && value.toTensor().defined(); }

/// What the allocator gives for an allocation of its own; a workspace of several is charged as one.
[[nodiscard]] inline std::size_t rounded(std::size_t bytes) { return memory::round_up(bytes, memory::kMinBlockSize); }

/// Of a sum or a product, whose type may be given; that of whole numbers is int64.
[[nodiscard]] inline at::ScalarType type_of_sum(const c10::IValue& given, const at::Tensor& self) {
  if (given.isInt()) return given.toScalarType();
  return at::isIntegralType(self.scalar_type(), /*includeBool=*/true) ? at::kLong : self.scalar_type();
}

/// What a sort of `count` elements, in rows of `length`, takes on the GPU of `self`, whose type they have.
[[nodiscard]] std::size_t sorted_rows(const at::Tensor& self, std::size_t count, std::size_t length);

}  // namespace devsan::emulate
