#include "emulate/nested.h"

#include <ATen/NestedTensorImpl.h>

namespace devsan::emulate {

at::Tensor rebuild_nested(const at::Tensor& nested, const Member& member) {
  const auto* impl = static_cast<const at::native::NestedTensorImpl*>(nested.unsafeGetTensorImpl());
  return at::detail::make_tensor<at::native::NestedTensorImpl>(member(impl->get_unsafe_storage_as_tensor()),
                                                               impl->get_nested_sizes(), impl->get_nested_strides(),
                                                               impl->get_storage_offsets());
}

}  // namespace devsan::emulate
