#include "emulate/runtime/sparse_tensor.h"

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>

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

}  // namespace devsan::emulate
