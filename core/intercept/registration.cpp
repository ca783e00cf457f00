#include "intercept/registration.h"

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include "emulate/factories.h"
#include "emulate/sparse.h"
#include "intercept/hand_written.h"
#include "intercept/operator_kernel.h"
#include "intercept/operator_lists.h"
#include "intercept/typed_kernel.h"

namespace devsan::intercept {
namespace {

using torch::CppFunction;
using torch::Library;

// Other layouts: the key of an emulated tensor, of its host alias, and of CUDA's factories.
struct LayoutKeys {
  c10::DispatchKey emulated;
  c10::DispatchKey host;
  c10::DispatchKey factory;
};
constexpr LayoutKeys kLayouts[] = {
    {c10::DispatchKey::SparsePrivateUse1, c10::DispatchKey::SparseCPU, c10::DispatchKey::SparseCUDA},
    {c10::DispatchKey::SparseCsrPrivateUse1, c10::DispatchKey::SparseCsrCPU, c10::DispatchKey::SparseCsrCUDA},
    {c10::DispatchKey::NestedTensorPrivateUse1, c10::DispatchKey::NestedTensorCPU, c10::DispatchKey::NestedTensorCUDA}};

bool takes_tensor(const c10::FunctionSchema& schema) {
  for (const c10::Argument& argument : schema.arguments()) {
    const std::string type = argument.type()->str();
    if (type.find("Tensor") != std::string::npos || type.find("Storage") != std::string::npos) return true;
  }
  return false;
}

bool takes_device(const c10::FunctionSchema& schema) {
  for (const c10::Argument& argument : schema.arguments()) {
    if (argument.name() == "device") return true;
  }
  return false;
}

template <typename Visit>
void for_each_aten_operator(const Visit& visit) {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (name.name.rfind("aten::", 0) != 0) continue;
    const auto op = dispatcher.findSchema(name);
    if (op.has_value()) visit(*op, c10::toString(name));
  }
}

std::unique_ptr<Library> library_for(const char* space, c10::DispatchKey key) {
  return std::make_unique<Library>(Library::IMPL, space, key, __FILE__, static_cast<std::uint32_t>(__LINE__));
}

template <typename Kernel, typename... Arguments>
void put(Library& library, const c10::OperatorHandle& op, const std::string& name, Arguments... arguments) {
  library.impl(name.c_str(), CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(op, arguments...)));
}

/// The words of c10::impl::OperatorEntry::reportError, up to the list of backends.
void refuse_cpu_only(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* /*stack*/) {
  const std::string name = c10::toString(op.operator_name());
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "Could not run '", name, "' with arguments from the 'CUDA' backend. This could be because the operator ",
      "doesn't exist for this backend, or was omitted during the selective/custom build process (if using custom ",
      "build). If you are a Facebook employee using PyTorch on mobile, please visit https://fburl.com/ptmfixes for ",
      "possible resolutions. '", name, "' is only available for the CPU backend.");
}

/// The kernel for an operator with a CPU kernel: typed where its signature is a common one.
void put_operator(Library& library, const c10::OperatorHandle& op, const std::string& name) {
  if (is_cpu_only(name)) {
    library.impl(name.c_str(), CppFunction::makeFromBoxedFunction<&refuse_cpu_only>());
    return;
  }
  const bool typed = !op.schema().is_varret() && with_common_signature(op.schema(), [&](auto* signature) {
    using Kernel = TypedKernel<std::remove_pointer_t<decltype(signature)>>;
    library.impl(name.c_str(), Kernel::function(op));
  });
  if (!typed) put<OperatorKernel>(library, op, name);
}

/// In a CUDA build the dispatcher warns of every kernel that is overridden; that is meant here, and no news to the user.
class QuietRegistration {
 public:
  QuietRegistration() : guard_(&handler_) {}

 private:
  class Silence final : public c10::WarningHandler {
    void process(const c10::Warning& /*warning*/) override {}
  };
  Silence handler_;
  c10::WarningUtils::WarningHandlerGuard guard_;
};

/// Kernels for sparse and nested tensors, carried out by those of `host`.
void register_layout(Library& library, c10::DispatchKey host) {
  library.impl("copy_", TORCH_FN(emulate::copy_any_layout_));
  for_each_aten_operator([&](const c10::OperatorHandle& op, const std::string& name) {
    if (!op.hasKernelForDispatchKey(host) || !takes_tensor(op.schema()) || name == "aten::copy_") return;
    if (is_cpu_only(name)) {
      library.impl(name.c_str(), CppFunction::makeFromBoxedFunction<&refuse_cpu_only>());
    } else {
      put<OperatorKernel>(library, op, name, host);
    }
  });
}

std::vector<std::unique_ptr<Library>> g_factories;

void call_nested_cpu_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::NestedTensorCPU), stack);
}

/// The factories that have a kernel for `host`, on the key that CUDA's have.
void register_factories_on(c10::DispatchKey key, c10::DispatchKey host) {
  auto library = library_for("aten", key);
  if (key == c10::DispatchKey::CUDA) {
    library->impl("empty.memory_format", TORCH_FN(emulate::empty));
    library->impl("empty_strided", TORCH_FN(emulate::empty_strided));
  }
  for_each_aten_operator([&](const c10::OperatorHandle& op, const std::string& name) {
    const bool written = key == c10::DispatchKey::CUDA && is_hand_written(name);
    if (op.hasKernelForDispatchKey(host) && !takes_tensor(op.schema()) && takes_device(op.schema()) && !written) {
      put<FactoryKernel>(*library, op, name, host);
    }
  });
  // See NOTE [Sparse tensors on an emulated GPU].
  if (host == c10::DispatchKey::SparseCsrCPU) register_layout(*library, host);
  // BackendSelect sends a nested CPU tensor that is to be copied to a GPU to that GPU's key.
  if (host == c10::DispatchKey::NestedTensorCPU) {
    library->impl("_to_copy", CppFunction::makeFromBoxedFunction<&call_nested_cpu_kernel>());
  }
  g_factories.push_back(std::move(library));
}

}  // namespace

void register_operators() {
  static bool done = false;
  if (done) return;
  done = true;
  // Leaked on purpose: taking kernels away while the process ends races with threads that still free tensors.
  auto& library = *library_for("aten", c10::DispatchKey::PrivateUse1).release();
  auto& autograd = *library_for("aten", c10::DispatchKey::AutogradPrivateUse1).release();
  auto& others = *library_for("_", c10::DispatchKey::PrivateUse1).release();
  const QuietRegistration quiet;
  register_hand_written(library, autograd);
  for_each_aten_operator([&](const c10::OperatorHandle& op, const std::string& name) {
    const bool runs = op.hasKernelForDispatchKey(c10::DispatchKey::CPU) || is_taken_whole(name);
    if (runs && takes_tensor(op.schema()) && !is_hand_written(name)) put_operator(library, op, name);
    if (goes_through_host(name)) {
      put<CompositeKernel>(library, op, name);
      put<CompositeKernel>(autograd, op, name);
    } else if (guard::verdict_of(name).rule == guard::Rule::kGenerated && !runs &&
               op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd)) {
      put<CheckedCompositeKernel>(library, op, name);
      put<CheckedCompositeKernel>(autograd, op, name);
    }
  });
  for (const LayoutKeys& keys : kLayouts) register_layout(*library_for("aten", keys.emulated).release(), keys.host);
  others.fallback(CppFunction::makeFromBoxedFunction<&call_any_operator>());
}

void register_factories() {
  if (!g_factories.empty()) return;
  const QuietRegistration quiet;
  register_factories_on(c10::DispatchKey::CUDA, c10::DispatchKey::CPU);
  for (const LayoutKeys& keys : kLayouts) register_factories_on(keys.factory, keys.host);
}

void unregister_factories() { g_factories.clear(); }

}  // namespace devsan::intercept
