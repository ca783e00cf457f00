#include "intercept/sparse_construction.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <utility>
#include <vector>

namespace devsan::intercept {
namespace {

void call_composite(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  // Where it stands for every backend that has no kernel: this backend is nobody's.
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::AutogradPrivateUse2), stack);
}

/// (indices, values, size, dtype, layout, device, pin_memory, is_coalesced)
void construct(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
  // An empty answer says that the program never chose, which is the same as no.
  const std::optional<bool> checked = at::globalContext().checkSparseTensorInvariants();
  if (C10_LIKELY(!checked.value_or(false))) return call_composite(op, stack);
  const auto first = stack->end() - static_cast<std::ptrdiff_t>(op.schema().arguments().size());
  const c10::IValue& layout = *(first + 4);
  if (!layout.isNone() && layout.toLayout() != c10::kSparse) return call_composite(op, stack);  // refused there
  const at::Tensor indices = first->toTensor();
  at::Tensor values = (first + 1)->toTensor();
  const std::vector<std::int64_t> size = (first + 2)->toIntVector();
  const auto is_coalesced = stack->back().toOptional<bool>();
  at::_validate_sparse_coo_tensor_args(indices, values, size, is_coalesced);
  // What is left of the composites behind their check (_sparse_coo_tensor_unsafe_symint in
  // aten/src/ATen/native/sparse/SparseTensor.cpp). The check could be turned off for them, but for all threads at once.
  if (values.dim() == 0) values = values.expand({1});
  at::Tensor made = at::_sparse_coo_tensor_with_dims_and_tensors(
      indices.size(0), values.dim() - 1, size, indices, values, values.options().layout(c10::kSparse), is_coalesced);
  torch::jit::drop(*stack, op.schema().arguments().size());
  torch::jit::push(*stack, std::move(made));
}

}  // namespace

void register_sparse_construction(torch::Library& library, torch::Library& autograd) {
  for (torch::Library* keyed : {&library, &autograd}) {
    for (const char* name : {"sparse_coo_tensor.indices_size", "_sparse_coo_tensor_unsafe"}) {
      keyed->impl(name, torch::CppFunction::makeFromBoxedFunction<&construct>());
    }
  }
}

}  // namespace devsan::intercept
