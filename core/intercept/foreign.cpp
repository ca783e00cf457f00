#include "intercept/foreign.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/to_native.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <algorithm>

#include "emulate/runtime/storage.h"
#include "emulate/runtime/tensor.h"
#include "intercept/dispatcher.h"
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

/// Whether the group has a backend for CUDA (torch 2.11 has no ProcessGroup::hasBackendForDeviceType).
bool has_cuda(const c10d::ProcessGroup& group) {
  return std::ranges::any_of(group.getDeviceTypes(), &c10::Device::is_cuda);
}

/// One operator of c10d. What its process group has for CUDA decides who carries it out: nccl, or a backend of the
/// program's own, is given the emulated tensors; gloo is given their host aliases.
class CollectiveKernel final : public c10::OperatorKernel {
 public:
  /// @param host of its kernel for CPU tensors
  /// @param cuda of its kernel that asks the group for its CUDA backend
  CollectiveKernel(const c10::OperatorHandle& op, c10::DispatchKey host, c10::DispatchKey cuda)
      : on_host_(op, host), cuda_(cuda) {
    const auto& arguments = op.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].name() == "process_group") group_ = i;
    }
    count_ = arguments.size();
  }

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const auto group = torch::jit::peek(*stack, group_, count_).toCustomClass<c10d::ProcessGroup>();
    if (has_cuda(*group) && group->getBackend(c10::DeviceType::CUDA)->getBackendName() == "gloo") {
      on_host_(op, keys, stack);
    } else {
      op.redispatchBoxed(c10::DispatchKeySet(cuda_), stack);
    }
  }

 private:
  intercept::OperatorKernel on_host_;
  c10::DispatchKey cuda_;
  std::size_t group_ = 0;
  std::size_t count_ = 0;
};

}  // namespace

bool has_cuda_kernels() {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow("aten::add", "Tensor")
      .hasKernelForDispatchKey(c10::DispatchKey::CUDA);
}

void take_over_foreign_memory(std::vector<std::unique_ptr<torch::Library>>& libraries) {
  libraries.push_back(library_for("_", c10::DispatchKey::CUDA));
  libraries.back()->fallback(torch::CppFunction::makeFromBoxedFunction<&call_with_emulated>());
}

namespace {

at::Tensor convert(const at::Tensor& self, at::Device device, at::ScalarType dtype, bool non_blocking, bool copy,
                   std::optional<at::MemoryFormat> memory_format) {
  if (is_foreign(self)) emulate::take_over(self);
  return at::native::to(self, device, dtype, non_blocking, copy, memory_format);
}

}  // namespace

void take_over_array_interfaces(std::vector<std::unique_ptr<torch::Library>>& libraries) {
  for (const auto key : {c10::DispatchKey::CUDA, c10::DispatchKey::AutogradCUDA}) {
    libraries.push_back(library_for("aten", key));
    libraries.back()->impl("to.device", TORCH_FN(convert));
  }
}

void register_collectives() {
  struct Layout {
    c10::DispatchKey emulated, host, cuda;
  };
  using Key = c10::DispatchKey;
  for (const Layout& layout : {Layout{Key::PrivateUse1, Key::CPU, Key::CUDA},
                               Layout{Key::SparsePrivateUse1, Key::SparseCPU, Key::SparseCUDA}}) {
    // Leaked as the operators' own library is, see register_operators.
    auto* library = new torch::Library(torch::Library::IMPL, "c10d", layout.emulated, __FILE__,
                                       static_cast<std::uint32_t>(__LINE__));
    for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
      if (name.name.rfind("c10d::", 0) != 0) continue;
      const auto op = c10::Dispatcher::singleton().findSchema(name);
      if (!op.has_value() || !op->hasKernelForDispatchKey(layout.host)) continue;
      library->impl(
          c10::toString(name).c_str(),
          torch::CppFunction::makeFromBoxedFunctor(std::make_unique<CollectiveKernel>(*op, layout.host, layout.cuda)));
    }
  }
}

}  // namespace devsan::intercept
