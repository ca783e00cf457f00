#pragma once

#include <string_view>

#include "guard/operands.h"

namespace devsan::guard {

/// Whether `check_kernel` knows the operator.
bool has_kernel_check(std::string_view op);

/// How many 0-dim CPU operands its check accepts beside operands that agree.
int free_host_scalars(std::string_view op);

/// The checks that stand in a kernel's own source rather than in generated code, in that kernel's words.
/// @return true when the kernel has checks of its own and accepts the operands: nothing else is checked then.
bool check_kernel(std::string_view op, const Call& call);

/// What a kernel checks beside the generated check, and after it.
void check_further(std::string_view op, const Call& call);

// The checks of elementwise operators and reductions whose kernels do not do as their entries say. Each returns true when
// nothing else is to be checked.

bool check_binary_cross_entropy(const Call& call);
bool check_binomial(const Call& call);
bool check_rsub(const Call& call);
bool check_std_var(const Call& call);
bool check_mode(const Call& call);
bool check_addr(const Call& call);
bool check_log_sigmoid(const Call& call);
bool check_reduce_all(const Call& call);

/// TensorIterator's rule without its exemption for 0-dim CPU operands.
bool check_without_host_scalars(const Call& call);

// The checks of the operators that take indices and masks. Each returns true: the operator checks nothing else.

bool check_index(const Call& call);
bool check_index_put(const Call& call);
bool check_index_fill(const Call& call);
bool check_masked_fill(const Call& call);
bool check_where(const Call& call);

/// The sorter of a search, which the generated check leaves out because it is keyword-only.
bool check_sorter(const Call& call);

// The checks of operators on lists of tensors: foreach and fused optimizers. Each returns true when nothing else is to be
// checked.

bool check_foreach_add(const Call& call);
bool check_foreach_add_in_place(const Call& call);
bool check_foreach_scale(const Call& call);
bool check_foreach_scale_in_place(const Call& call);
bool check_fused_with_tensor_lr(const Call& call);

// The checks of the layers of networks, whose composites choose among the kernels of several libraries. Each returns true
// when nothing else is to be checked.

bool check_convolution(const Call& call);
bool check_batch_norm(const Call& call);
bool check_recurrent(const Call& call);
bool check_recurrent_cell(const Call& call);
bool check_attention(const Call& call);
bool check_attention_backward(const Call& call);

/// What CUDA's own kernels for sparse tensors check, in their words: of `op` on COO or compressed tensors.
/// @return true when the kernel has checks of its own and accepts the operands: nothing else is checked then.
bool check_sparse(std::string_view op, const Call& call);
bool check_sparse_compressed(std::string_view op, const Call& call);

}  // namespace devsan::guard
