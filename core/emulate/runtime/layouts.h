#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

// NOTE [Sparse tensors on an emulated GPU]
// A sparse tensor has no bytes of its own: it is a shape over dense members (indices and values). One on an emulated GPU
// is torch's own sparse tensor whose members are emulated; its host alias is one over the members' aliases. Its dispatch
// key is SparsePrivateUse1 for COO. For the compressed layouts it is CUDA's own, SparseCsrCUDA: torch makes them itself
// with the key that the device names, and insists on it (SparseCsrTensorImpl's constructor).

/// The members of a COO or compressed sparse tensor, in a fixed order; none for any other layout.
std::vector<at::Tensor> sparse_members(const at::Tensor& tensor);

/// What stands for a member on the other side.
using Member = std::function<at::Tensor(const at::Tensor&)>;

/// A CPU tensor of the same sizes and layout as the emulated `tensor`, over what `member` makes of its members.
/// Raises NotImplementedError for a layout that is neither strided nor sparse.
at::Tensor sparse_to_host(const at::Tensor& tensor, const Member& member);

/// The other way round: the sparse CPU tensor `host` (a kernel's result) as one on `device`.
at::Tensor sparse_to_device(const at::Tensor& host, c10::Device device, const Member& member);

/// Takes over what a kernel did to the sizes and members of `alias`, the host alias of the sparse `tensor`.
void follow_sparse(const at::Tensor& tensor, const at::Tensor& alias, const Member& member);

// NOTE [Quantized tensors on an emulated GPU]
// A quantized tensor has bytes, and a quantizer that says what they mean. One on an emulated GPU is the CPU's own with
// its storage exchanged; both sides share the quantizer, whose per-channel scales stay in host memory. CUDA has few
// operators for such tensors, and so has an emulated GPU: see is_quantized_on_cuda in intercept/operator_lists.h.

inline bool is_quantized(const c10::TensorImpl& impl) noexcept {
  return impl.key_set().has(c10::DispatchKey::Quantized);
}

/// A quantized CPU tensor on `host`, with the sizes, strides and quantizer of `tensor`.
at::Tensor quantized_alias(const at::Tensor& tensor, c10::Storage&& host);

/// Gives `tensor` the quantizer of `alias`, after a kernel that wrote it.
void follow_quantizer(const at::Tensor& tensor, const at::Tensor& alias);

/// aten::q_per_channel_scales and aten::q_per_channel_zero_points, on the tensor's device.
at::Tensor per_channel_scales(const at::Tensor& tensor);
at::Tensor per_channel_zero_points(const at::Tensor& tensor);

/// Nested tensors (torch.nested, layout strided): a dense buffer, with the sizes of the parts in CPU tensors. They cross
/// to the host and back by their buffer.

inline bool is_nested(const c10::TensorImpl& impl) noexcept {
  return impl.key_set().has(c10::DispatchKey::NestedTensor);
}

/// A nested tensor over what `member` makes of the buffer of `nested`, with the same parts.
at::Tensor rebuild_nested(const at::Tensor& nested, const Member& member);

}  // namespace devsan::emulate
