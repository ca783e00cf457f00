#pragma once

#include <span>
#include <string_view>

#include "guard/operands.h"

namespace devsan::guard {

/// Whether `check_kernel` knows the operator.
bool has_kernel_check(std::string_view op);

/// Whether `check_further` knows the operator.
bool has_further_check(std::string_view op);

/// How many 0-dim CPU operands its check accepts beside operands that agree.
int free_host_scalars(std::string_view op);

/// The checks that stand in a kernel's own source rather than in generated code, in that kernel's words.
/// @return true when the kernel has checks of its own and accepts the operands: nothing else is checked then.
bool check_kernel(std::string_view op, const Call& call);

/// What a kernel checks beside the generated check, and after it.
void check_further(std::string_view op, const Call& call);

/// A check of one operator. It stands in the table at the end of its family's file, and nothing else lists it.
struct KernelCheck {
  std::string_view op;
  bool (*check)(const Call& call);  ///< returns true when nothing else is to be checked
  int host_scalars = 0;             ///< 0-dim CPU operands that the check would accept: no need to ask it
  /// After the generated check, which leaves out keyword-only arguments, and not in its place.
  bool is_further = false;
};

std::span<const KernelCheck> elementwise_checks();  ///< and reductions
std::span<const KernelCheck> scalar_checks();       ///< 0-dim CPU operands that a kernel refuses
std::span<const KernelCheck> indexing_checks();     ///< operators that take indices and masks
std::span<const KernelCheck> list_checks();         ///< lists of tensors: foreach and fused optimizers
/// Layers of networks, whose composites choose among the kernels of several libraries.
std::span<const KernelCheck> network_checks();

/// TensorIterator's rule without its exemption for 0-dim CPU operands. As a further check it stands where CUDA's kernel
/// compares nothing and reads through raw pointers: there a call dies of an illegal memory access, here it is refused.
bool check_without_host_scalars(const Call& call);

/// What CUDA's own kernels for sparse tensors check, in their words: of `op` on COO or compressed tensors.
/// @return true when the kernel has checks of its own and accepts the operands: nothing else is checked then.
bool check_sparse(std::string_view op, const Call& call);
bool check_sparse_compressed(std::string_view op, const Call& call);

}  // namespace devsan::guard
