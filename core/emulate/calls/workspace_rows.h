#pragma once

#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include "emulate/calls/workspaces.h"

namespace devsan::emulate {

/// The full name of an operator, and what its kernel takes.
using WorkspaceRow = std::pair<const char*, decltype(Workspace::bytes)>;

/// A family each, in the order of docs/reference/memory.md.
c10::ArrayRef<WorkspaceRow> sort_workspaces();
c10::ArrayRef<WorkspaceRow> reduction_workspaces();

/// Of an index, and of a sum of whole numbers.
inline constexpr std::size_t kLongBytes = sizeof(std::int64_t);

[[nodiscard]] inline std::size_t count_of(const at::Tensor& tensor) { return static_cast<std::size_t>(tensor.numel()); }

}  // namespace devsan::emulate
