#include "emulate/runtime/layouts.h"

#include <ATen/Functions.h>
#include <ATen/NestedTensorImpl.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/quantized/QTensorImpl.h>
#include <ATen/quantized/Quantizer.h>
#include <c10/core/InferenceMode.h>

#include "emulate/runtime/host_allocator.h"
#include "emulate/runtime/tensor.h"

namespace devsan::emulate {
namespace {

/// Pointers to protected members, named through a derived class as the language allows.
struct SparseMembers : c10::TensorImpl {
  static constexpr c10::DispatchKeySet c10::TensorImpl::*keys_member() { return &SparseMembers::key_set_; }
  static constexpr std::optional<c10::Device> c10::TensorImpl::*device_member() { return &SparseMembers::device_opt_; }
};

bool is_compressed(at::Layout layout) {
  return layout == at::kSparseCsr || layout == at::kSparseCsc || layout == at::kSparseBsr || layout == at::kSparseBsc;
}

at::SparseTensorImpl* coo(const at::Tensor& tensor) {
  return static_cast<at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
}

at::SparseCsrTensorImpl* compressed(const at::Tensor& tensor) {
  return static_cast<at::SparseCsrTensorImpl*>(tensor.unsafeGetTensorImpl());
}

/// A tensor of its own over the member's memory: the kernel may hold the member, or the caller may.
at::Tensor detached(const at::Tensor& member) {
  return at::Tensor(member.unsafeGetTensorImpl()->shallow_copy_and_detach(c10::VariableVersion(0), true));
}

/// An empty sparse tensor of `like`'s kind on `device`: the CPU, or an emulated GPU.
at::Tensor make_like(const at::Tensor& like, c10::Device device) {
  if (is_compressed(like.layout())) {
    const auto key = device.is_cpu() ? c10::DispatchKey::SparseCsrCPU : c10::DispatchKey::SparseCsrCUDA;
    return at::detail::make_tensor<at::SparseCsrTensorImpl>(c10::DispatchKeySet(key), device, like.layout(),
                                                            like.dtype());
  }
  at::Tensor made =
      at::detail::make_tensor<at::SparseTensorImpl>(c10::DispatchKeySet(c10::DispatchKey::SparseCPU), like.dtype());
  if (!device.is_cpu()) {
    c10::TensorImpl* impl = made.unsafeGetTensorImpl();
    impl->*SparseMembers::keys_member() = virtual_keys(impl->key_set());
    impl->*SparseMembers::device_member() = device;
  }
  return made;
}

void fill(const at::Tensor& target, const at::Tensor& like, const Member& member) {
  const auto convert = [&member](const at::Tensor& part) { return member(detached(part)); };
  if (like.layout() == at::kSparse) {
    const at::SparseTensorImpl* from = coo(like);
    coo(target)->raw_resize_(from->sparse_dim(), from->dense_dim(), from->sizes());
    coo(target)->set_indices_and_values_unsafe(convert(from->indices()), convert(from->values()));
    coo(target)->set_coalesced(from->coalesced());
  } else {
    const at::SparseCsrTensorImpl* from = compressed(like);
    compressed(target)->set_member_tensors(convert(from->compressed_indices()), convert(from->plain_indices()),
                                           convert(from->values()), from->sizes());
  }
}

void refuse_layout(const at::Tensor& tensor) {
  TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == at::kSparse || is_compressed(tensor.layout()),
                              "devsan: expected a strided or sparse tensor, got layout ", tensor.layout(),
                              " on an emulated GPU; see docs/limits.md");
}

const at::PerChannelAffineQuantizer& per_channel(const at::Tensor& tensor) {
  auto* quantizer = dynamic_cast<at::PerChannelAffineQuantizer*>(at::get_qtensorimpl(tensor)->quantizer().get());
  TORCH_CHECK(quantizer != nullptr, "expected a tensor that is quantized per channel, got one with scheme ",
              at::toString(at::get_qtensorimpl(tensor)->quantizer()->qscheme()));
  return *quantizer;
}

/// The quantizer keeps its own.
at::Tensor copy_onto(const at::Tensor& host, c10::Device device) {
  const DeviceScope scope(device.index());
  return adopt(host.clone(), device);
}

}  // namespace

std::vector<at::Tensor> sparse_members(const at::Tensor& tensor) {
  if (tensor.layout() == at::kSparse) return {coo(tensor)->indices(), coo(tensor)->values()};
  if (!is_compressed(tensor.layout())) return {};
  const at::SparseCsrTensorImpl* impl = compressed(tensor);
  return {impl->compressed_indices(), impl->plain_indices(), impl->values()};
}

at::Tensor sparse_to_host(const at::Tensor& tensor, const Member& member) {
  refuse_layout(tensor);
  at::Tensor alias = make_like(tensor, c10::Device(c10::DeviceType::CPU));
  fill(alias, tensor, member);
  return alias;
}

at::Tensor sparse_to_device(const at::Tensor& host, c10::Device device, const Member& member) {
  refuse_layout(host);
  at::Tensor made = make_like(host, device);
  fill(made, host, member);
  return made;
}

void follow_sparse(const at::Tensor& tensor, const at::Tensor& alias, const Member& member) {
  fill(tensor, alias, member);
}

at::Tensor quantized_alias(const at::Tensor& tensor, c10::Storage&& host) {
  const c10::TensorImpl* shape = tensor.unsafeGetTensorImpl();
  at::Tensor alias =
      at::detail::make_tensor<at::QTensorImpl>(std::move(host), c10::DispatchKeySet(c10::DispatchKey::QuantizedCPU),
                                               shape->dtype(), at::get_qtensorimpl(tensor)->quantizer());
  alias.unsafeGetTensorImpl()->set_sizes_and_strides(shape->sizes(), shape->strides(), shape->storage_offset());
  return alias;
}

void follow_quantizer(const at::Tensor& tensor, const at::Tensor& alias) {
  at::get_qtensorimpl(tensor)->set_quantizer_(at::get_qtensorimpl(alias)->quantizer());
}

at::Tensor per_channel_scales(const at::Tensor& tensor) {
  return copy_onto(per_channel(tensor).scales(), tensor.device());
}

at::Tensor per_channel_zero_points(const at::Tensor& tensor) {
  return copy_onto(per_channel(tensor).zero_points(), tensor.device());
}

at::Tensor rebuild_nested(const at::Tensor& nested, const Member& member) {
  const auto* impl = static_cast<const at::native::NestedTensorImpl*>(nested.unsafeGetTensorImpl());
  at::Tensor buffer = member(impl->get_unsafe_storage_as_tensor());
  // In inference mode a view of an ordinary tensor is an ordinary one.
  const c10::InferenceMode mode(nested.is_inference());
  return at::detail::make_tensor<at::native::NestedTensorImpl>(std::move(buffer), impl->get_nested_sizes(),
                                                               impl->get_nested_strides(), impl->get_storage_offsets());
}

}  // namespace devsan::emulate
