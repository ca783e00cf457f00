#include "emulate/runtime/nested_tensor.h"

#include <ATen/NestedTensorImpl.h>
#include <c10/core/InferenceMode.h>

namespace devsan::emulate {

at::Tensor rebuild_nested(const at::Tensor& nested, const Member& member) {
  const auto* impl = static_cast<const at::native::NestedTensorImpl*>(nested.unsafeGetTensorImpl());
  at::Tensor buffer = member(impl->get_unsafe_storage_as_tensor());
  // In inference mode a view of an ordinary tensor is an ordinary one.
  const c10::InferenceMode mode(nested.is_inference());
  return at::detail::make_tensor<at::native::NestedTensorImpl>(std::move(buffer), impl->get_nested_sizes(),
                                                               impl->get_nested_strides(), impl->get_storage_offsets());
}

}  // namespace devsan::emulate
