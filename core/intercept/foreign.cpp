#include "intercept/foreign.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "emulate/storage.h"
#include "emulate/tensor.h"
#include "intercept/operator_kernel.h"

namespace devsan::intercept {
namespace {

bool is_foreign(const at::Tensor& tensor) {
  if (!tensor.defined() || emulate::is_virtual(tensor) || !tensor.is_cuda() || !tensor.has_storage()) return false;
  const c10::StorageImpl* storage = tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  return storage->nbytes() == 0 || storage->data() != nullptr;
}

/// Takes over every such tensor in `value`; says whether there was one.
bool take_over_all(const c10::IValue& value) {
  if (value.isTensor()) {
    if (!is_foreign(value.toTensor())) return false;
    emulate::take_over(value.toTensor());
    return true;
  }
  if (!value.isList()) return false;
  bool any = false;
  for (const c10::IValue& element : value.toListRef()) any = take_over_all(element) || any;
  return any;
}

void call_with_emulated(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
  bool any = false;
  for (const c10::IValue& argument : torch::jit::last(*stack, op.schema().arguments().size())) {
    any = take_over_all(argument) || any;
  }
  TORCH_CHECK_NOT_IMPLEMENTED(any, "Could not run '", op.operator_name(), "' with arguments from the 'CUDA' backend.");
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), stack);
}

}  // namespace

bool has_cuda_kernels() {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow("aten::add", "Tensor")
      .hasKernelForDispatchKey(c10::DispatchKey::CUDA);
}

std::unique_ptr<torch::Library> take_over_foreign_memory() {
  auto library = std::make_unique<torch::Library>(torch::Library::IMPL, "_", c10::DispatchKey::CUDA, __FILE__,
                                                  static_cast<std::uint32_t>(__LINE__));
  library->fallback(torch::CppFunction::makeFromBoxedFunction<&call_with_emulated>());
  return library;
}

void register_collectives() {
  auto& dispatcher = c10::Dispatcher::singleton();
  // Leaked as the operators' own library is, see register_operators.
  auto* library = new torch::Library(torch::Library::IMPL, "c10d", c10::DispatchKey::PrivateUse1, __FILE__,
                                     static_cast<std::uint32_t>(__LINE__));
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("c10d::", 0) != 0) continue;
    const auto op = dispatcher.findSchema(name);
    if (!op.has_value() || !op->hasKernelForDispatchKey(c10::DispatchKey::CPU)) continue;
    library->impl(c10::toString(name).c_str(),
                  torch::CppFunction::makeFromBoxedFunctor(std::make_unique<OperatorKernel>(*op)));
  }
}

}  // namespace devsan::intercept
