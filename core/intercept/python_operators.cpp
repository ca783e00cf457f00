#include "intercept/python_operators.h"

#include <c10/util/Exception.h>

#include "intercept/dispatcher.h"

namespace devsan::intercept {
namespace {

/// Keeps the key set of the call, which a Python kernel may ask for.
template <c10::DispatchKey key>
void call_kernel_for(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  op.getComputedKernelForDispatchKey(key).callBoxed(op, keys, stack);
}

bool has_composite(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
         op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

void call_cuda_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  if (op.hasKernelForDispatchKey(c10::DispatchKey::CUDA)) {
    call_kernel_for<c10::DispatchKey::CUDA>(op, keys, stack);
  } else if (has_composite(op)) {
    // The composite stands at the key of every backend that has no kernel; this one is nobody's.
    call_kernel_for<c10::DispatchKey::PrivateUse2>(op, keys, stack);
  } else {
    refuse_cpu_only(op, keys, stack);
  }
}

torch::CppFunction kernel_for(c10::DispatchKey key) {
  return key == c10::DispatchKey::CUDA
             ? torch::CppFunction::makeFromBoxedFunction<&call_cuda_kernel>()
             : torch::CppFunction::makeFromBoxedFunction<&call_kernel_for<c10::DispatchKey::AutogradCUDA>>();
}

}  // namespace

FollowedKernel::FollowedKernel(const std::string& name, c10::DispatchKey key) {
  TORCH_CHECK(key == c10::DispatchKey::CUDA || key == c10::DispatchKey::AutogradCUDA,
              "devsan: expected the key CUDA or AutogradCUDA, got ", key);
  const std::size_t end = name.find("::");
  TORCH_CHECK(end != std::string::npos, "devsan: expected library::operator, got ", name);
  const auto emulated =
      key == c10::DispatchKey::CUDA ? c10::DispatchKey::PrivateUse1 : c10::DispatchKey::AutogradPrivateUse1;
  library_ = std::make_unique<torch::Library>(torch::Library::IMPL, name.substr(0, end), emulated, __FILE__,
                                              static_cast<std::uint32_t>(__LINE__));
  const QuietRegistration quiet;  // for one that is overridden, or has one for several devices
  library_->impl(name.c_str(), kernel_for(key));
}

void refuse_cpu_only(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* /*stack*/) {
  const std::string name = c10::toString(op.operator_name());
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "Could not run '", name, "' with arguments from the 'CUDA' backend. This could be because the operator ",
      "doesn't exist for this backend, or was omitted during the selective/custom build process (if using custom ",
      "build). If you are a Facebook employee using PyTorch on mobile, please visit https://fburl.com/ptmfixes for ",
      "possible resolutions. '", name, "' is only available for the CPU backend.");
}

}  // namespace devsan::intercept
