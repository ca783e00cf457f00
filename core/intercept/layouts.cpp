#include "intercept/layouts.h"

#include <c10/util/Exception.h>

#include "emulate/operators/copy.h"
#include "intercept/aten_operators.h"
#include "intercept/cuda_only.h"
#include "intercept/nested_sizes.h"
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

}  // namespace devsan::intercept
