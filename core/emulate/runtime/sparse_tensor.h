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

}  // namespace devsan::emulate
