#pragma once

#include <ATen/core/Tensor.h>

#include "emulate/runtime/sparse_tensor.h"

namespace devsan::emulate {

/// Nested tensors (torch.nested, layout strided): a dense buffer, with the sizes of the parts in CPU tensors. They cross
/// to the host and back by their buffer.

inline bool is_nested(const c10::TensorImpl& impl) noexcept {
  return impl.key_set().has(c10::DispatchKey::NestedTensor);
}

/// A nested tensor over what `member` makes of the buffer of `nested`, with the same parts.
at::Tensor rebuild_nested(const at::Tensor& nested, const Member& member);

}  // namespace devsan::emulate
