#include "intercept/layouts.h"

#include <optional>
#include <utility>
#include <vector>

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_nested_tensor_size_native.h>
#include <ATen/ops/_nested_tensor_storage_offsets_native.h>
#include <ATen/ops/_nested_tensor_strides_native.h>
#include <c10/util/Exception.h>

#include "emulate/operators/copy.h"
#include "intercept/dispatcher.h"
#include "intercept/hand_written.h"
#include "intercept/operator_kernel.h"
#include "intercept/operator_lists.h"
#include "intercept/python_operators.h"

namespace devsan::intercept {
namespace {

/// The words of c10::impl::OperatorEntry::reportError, up to the list of backends.
void refuse_quantized(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* /*stack*/) {
  const std::string name = c10::toString(op.operator_name());
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "Could not run '", name, "' with arguments from the 'QuantizedCUDA' backend. This could be because the ",
      "operator doesn't exist for this backend, or was omitted during the selective/custom build process (if using ",
      "custom build).");
}

void call_nested_cpu_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::NestedTensorCPU), stack);
}

/// Sizes, strides and offsets of a nested tensor's parts are CPU tensors wherever its buffer is.
void register_nested_sizes(torch::Library& library) {
  library.impl("_nested_tensor_size", TORCH_FN(at::native::_nested_tensor_size));
  library.impl("_nested_tensor_strides", TORCH_FN(at::native::_nested_tensor_strides));
  library.impl("_nested_tensor_storage_offsets", TORCH_FN(at::native::_nested_tensor_storage_offsets));
}

/// Whether `register_nested_sizes` has a kernel for the operator.
bool is_size_of_nested(const std::string& name) {
  return name == "aten::_nested_tensor_size" || name == "aten::_nested_tensor_strides" ||
         name == "aten::_nested_tensor_storage_offsets";
}

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

void register_layout(torch::Library& library, c10::DispatchKey host) {
  register_cuda_only_layout(library, host);
  library.impl("copy_", TORCH_FN(emulate::copy_any_layout_));
  const bool nested = host == c10::DispatchKey::NestedTensorCPU;
  if (nested) register_nested_sizes(library);
  for_each_aten_operator([&](const c10::OperatorHandle& op, const std::string& name) {
    if (!op.hasKernelForDispatchKey(host) || !takes_tensor(op.schema()) || name == "aten::copy_") return;
    if (host == c10::DispatchKey::QuantizedCPU && is_written_for_quantized(name)) return;
    if (nested && is_size_of_nested(name)) return;
    if (is_cpu_only(name)) {
      library.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&refuse_cpu_only>());
    } else if (host == c10::DispatchKey::QuantizedCPU && !is_quantized_on_cuda(name)) {
      library.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&refuse_quantized>());
    } else {
      put_kernel<OperatorKernel>(library, op, name, host);
    }
  });
}

void register_layout_on_factories(torch::Library& library, c10::DispatchKey host) {
  // See NOTE [Sparse tensors on an emulated GPU].
  if (host == c10::DispatchKey::SparseCsrCPU) register_layout(library, host);
  // BackendSelect sends a nested CPU tensor that is to be copied to a GPU to that GPU's key.
  if (host == c10::DispatchKey::NestedTensorCPU) {
    library.impl("_to_copy", torch::CppFunction::makeFromBoxedFunction<&call_nested_cpu_kernel>());
  }
}

void register_sparse_construction(torch::Library& library, torch::Library& autograd) {
  for (torch::Library* keyed : {&library, &autograd}) {
    for (const char* name : {"sparse_coo_tensor.indices_size", "_sparse_coo_tensor_unsafe"}) {
      keyed->impl(name, torch::CppFunction::makeFromBoxedFunction<&construct>());
    }
  }
}

}  // namespace devsan::intercept
