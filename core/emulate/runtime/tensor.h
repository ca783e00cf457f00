#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

namespace devsan::emulate {

// NOTE [What an emulated tensor is]
// Its device is cuda:k, its dispatch key is PrivateUse1 (with AutocastCUDA, so that torch.autocast("cuda") works as it
// is). Every operator on it therefore reaches DevSan's kernels, in a CUDA build of torch too, whose own CUDA kernels
// stay untouched; everything that asks for `t.device` or `t.is_cuda` sees an ordinary CUDA tensor.

/// The dispatch keys of a dense emulated tensor, without what autograd adds.
inline constexpr c10::DispatchKeySet kVirtualKeys =
    c10::DispatchKeySet({c10::DispatchKey::PrivateUse1, c10::DispatchKey::AutocastCUDA});

inline bool is_virtual(const at::TensorBase& tensor) noexcept {
  if (!tensor.defined()) return false;
  const c10::DispatchKeySet keys = tensor.unsafeGetTensorImpl()->key_set();
  // The second: see NOTE [Sparse tensors on an emulated GPU].
  return C10_LIKELY(keys.has_backend(c10::BackendComponent::PrivateUse1Bit)) ||
         keys.has_all(c10::DispatchKeySet(c10::DispatchKey::SparseCsrCUDA));
}

/// The keys on an emulated GPU of a tensor that has `host` as a CPU tensor: the backend changes, functionality (sparse,
/// conj, neg, autograd) stays.
c10::DispatchKeySet virtual_keys(c10::DispatchKeySet host) noexcept;

/// A CPU tensor over the bytes of `tensor`, with its sizes, strides, and conj and neg bits.
/// Raises NotImplementedError for a layout that is neither strided nor sparse.
at::Tensor host_alias(const at::Tensor& tensor);

/// Gives an alias back when the call that it was made for is over. Aliases are made for every operand of every operator;
/// a thread keeps a few of them to use again.
void recycle(at::Tensor&& alias) noexcept;

/// `tensor` itself, or its alias where it is emulated.
inline at::Tensor on_host(const at::Tensor& tensor) { return is_virtual(tensor) ? host_alias(tensor) : tensor; }

/// Makes a fresh CPU tensor (a kernel's result) one on `device`. Takes over its bytes.
at::Tensor adopt(at::Tensor&& host, c10::Device device);

/// As `adopt`, for a result that is a view: it becomes a view of `storage`, the virtual one.
at::Tensor adopt_view(at::Tensor&& host, const c10::Storage& storage);

/// Makes `tensor`, which torch has put on the CUDA key over memory that it does not own (from_blob, DLPack,
/// __cuda_array_interface__), an emulated one in place, over the same memory.
/// Raises RuntimeError for memory that the host cannot read, which is no emulated GPU's.
void take_over(const at::Tensor& tensor);

/// Takes over what a kernel did to the sizes, strides and storage of `alias`, the host alias of `tensor`.
void follow_alias(const at::Tensor& tensor, const at::Tensor& alias);

/// Whether an optional argument holds a tensor: what Python calls None can also arrive as an undefined one.
inline bool is_given(const std::optional<at::Tensor>& tensor) { return tensor.has_value() && tensor->defined(); }

}  // namespace devsan::emulate
