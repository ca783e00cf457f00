#include "intercept/registration.h"

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include "emulate/copy.h"
#include "emulate/factories.h"
#include "emulate/sparse.h"
#include "emulate/whole_ops.h"
#include "intercept/operator_kernel.h"
#include "intercept/typed_kernel.h"

namespace devsan::intercept {
namespace {

using torch::CppFunction;
using torch::Library;

// Operators with a kernel written by hand. The others on the key are found by looking at what has a CPU kernel.
void register_by_hand(Library& library) {
  // Views: torch's own functions work on any tensor with storage, and keep its keys.
  library.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  library.impl("view", TORCH_FN(at::native::view));
  library.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  // Copies and storages.
  library.impl("copy_", TORCH_FN(emulate::copy_));
  library.impl("_copy_from", TORCH_FN(emulate::copy_from));
  library.impl("set_", TORCH_FN(emulate::set_empty));
  library.impl("set_.source_Storage", TORCH_FN(emulate::set_whole_storage));
  library.impl("set_.source_Storage_storage_offset", TORCH_FN(emulate::set_storage));
  library.impl("set_.source_Tensor", TORCH_FN(emulate::set_tensor));
  library.impl("record_stream", TORCH_FN(emulate::record_stream_of));
  // torch makes sparse tensors anew (detach) by an `empty` on the device that their key names.
  library.impl("empty.memory_format", TORCH_FN(emulate::empty));
  library.impl("_has_compatible_shallow_copy_type", TORCH_FN(emulate::has_compatible_shallow_copy_type));
  // See NOTE [Operators taken whole].
  for (const char* name : {"_use_cudnn_ctc_loss", "_use_miopen_ctc_loss"}) {
    library.impl(name, TORCH_FN(emulate::use_no_ctc_library));
  }
  for (const char* name : {"_use_cudnn_ctc_loss.Tensor", "_use_miopen_ctc_loss.Tensor"}) {
    library.impl(name, TORCH_FN(emulate::use_no_ctc_library_for_lengths));
  }
  library.impl("native_dropout", TORCH_FN(emulate::native_dropout));
  library.impl("scaled_dot_product_attention", TORCH_FN(emulate::scaled_dot_product_attention));
}

const std::unordered_set<std::string>& by_hand() {
  static const std::unordered_set<std::string> names{
      "aten::as_strided", "aten::view", "aten::_reshape_alias", "aten::copy_", "aten::_copy_from", "aten::set_",
      "aten::set_.source_Storage", "aten::set_.source_Storage_storage_offset", "aten::set_.source_Tensor",
      "aten::record_stream", "aten::_has_compatible_shallow_copy_type", "aten::native_dropout",
      "aten::scaled_dot_product_attention", "aten::empty.memory_format", "aten::empty_strided"};
  return names;
}

// Composites that are taken whole although torch has no CPU kernel of their own. See NOTE [Operators taken whole].
const std::unordered_set<std::string>& whole() {
  static const std::unordered_set<std::string> names{"aten::convolution", "aten::convolution_backward"};
  return names;
}

// Recurrent networks and their cells. See NOTE [Through the host].
bool goes_through_host(const std::string& name) {
  static const std::unordered_set<std::string> names{"aten::lstm.input", "aten::lstm.data", "aten::gru.input",
                                                     "aten::gru.data", "aten::rnn_tanh.input", "aten::rnn_tanh.data",
                                                     "aten::rnn_relu.input", "aten::rnn_relu.data", "aten::lstm_cell",
                                                     "aten::gru_cell", "aten::rnn_tanh_cell", "aten::rnn_relu_cell"};
  return names.count(name) != 0;
}

// Other layouts: the key of an emulated tensor, of its host alias, and of CUDA's factories.
struct LayoutKeys {
  c10::DispatchKey emulated;
  c10::DispatchKey host;
  c10::DispatchKey factory;
};
constexpr LayoutKeys kLayouts[] = {
    {c10::DispatchKey::SparsePrivateUse1, c10::DispatchKey::SparseCPU, c10::DispatchKey::SparseCUDA},
    {c10::DispatchKey::SparseCsrPrivateUse1, c10::DispatchKey::SparseCsrCPU, c10::DispatchKey::SparseCsrCUDA},
    {c10::DispatchKey::NestedTensorPrivateUse1, c10::DispatchKey::NestedTensorCPU,
     c10::DispatchKey::NestedTensorCUDA}};

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

/// The kernel for an operator with a CPU kernel: typed where its signature is a common one.
void put_operator(Library& library, const c10::OperatorHandle& op, const std::string& name) {
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

/// Kernels for sparse and nested tensors: see NOTE [Sparse tensors on an emulated GPU].
void register_layout(const LayoutKeys& keys) {
  auto& library = *library_for("aten", keys.emulated).release();
  library.impl("copy_", TORCH_FN(emulate::copy_any_layout_));
  for_each_aten_operator([&](const c10::OperatorHandle& op, const std::string& name) {
    if (op.hasKernelForDispatchKey(keys.host) && takes_tensor(op.schema()) && name != "aten::copy_") {
      put<OperatorKernel>(library, op, name, keys.host);
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
    const bool written = key == c10::DispatchKey::CUDA && by_hand().count(name) != 0;
    if (op.hasKernelForDispatchKey(host) && !takes_tensor(op.schema()) && takes_device(op.schema()) && !written) {
      put<FactoryKernel>(*library, op, name, host);
    }
  });
  // See NOTE [Sparse tensors on an emulated GPU].
  if (host == c10::DispatchKey::SparseCsrCPU) {
    library->impl("copy_", TORCH_FN(emulate::copy_any_layout_));
    for_each_aten_operator([&](const c10::OperatorHandle& op, const std::string& name) {
      if (op.hasKernelForDispatchKey(host) && takes_tensor(op.schema()) && name != "aten::copy_") {
        put<OperatorKernel>(*library, op, name, host);
      }
    });
  }
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
  register_by_hand(library);
  autograd.impl("scaled_dot_product_attention", TORCH_FN(emulate::scaled_dot_product_attention));
  for_each_aten_operator([&](const c10::OperatorHandle& op, const std::string& name) {
    const bool runs = op.hasKernelForDispatchKey(c10::DispatchKey::CPU) || whole().count(name) != 0;
    if (runs && takes_tensor(op.schema()) && by_hand().count(name) == 0) put_operator(library, op, name);
    if (goes_through_host(name)) {
      put<CompositeKernel>(library, op, name);
      put<CompositeKernel>(autograd, op, name);
    }
  });
  for (const LayoutKeys& keys : kLayouts) register_layout(keys);
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
