#pragma once

#include <array>

#include <torch/library.h>

namespace devsan::intercept {

/// A layout other than the strided one: the key of an emulated tensor, of its host alias, and of CUDA's factories.
struct LayoutKeys {
  c10::DispatchKey emulated;
  c10::DispatchKey host;
  c10::DispatchKey factory;
};

inline constexpr std::array<LayoutKeys, 4> kLayouts{
    {{c10::DispatchKey::SparsePrivateUse1, c10::DispatchKey::SparseCPU, c10::DispatchKey::SparseCUDA},
     {c10::DispatchKey::SparseCsrPrivateUse1, c10::DispatchKey::SparseCsrCPU, c10::DispatchKey::SparseCsrCUDA},
     {c10::DispatchKey::QuantizedPrivateUse1, c10::DispatchKey::QuantizedCPU, c10::DispatchKey::QuantizedCUDA},
     {c10::DispatchKey::NestedTensorPrivateUse1, c10::DispatchKey::NestedTensorCPU,
      c10::DispatchKey::NestedTensorCUDA}}};

/// Kernels for sparse, quantized and nested tensors, carried out by those of `host`.
void register_layout(torch::Library& library, c10::DispatchKey host);

/// What the factories' key of a layout needs beside the factories themselves.
void register_layout_on_factories(torch::Library& library, c10::DispatchKey host);

/// Registers the construction of COO tensors where their invariants are checked (torch.sparse.check_sparse_tensor_invariants):
/// torch's composites call the check past the dispatcher, and its kernel is chosen by the device.
void register_sparse_construction(torch::Library& library, torch::Library& autograd);

}  // namespace devsan::intercept
