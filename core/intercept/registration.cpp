#include "intercept/registration.h"

#include <memory>
#include <string>
#include <vector>

#include <torch/library.h>

#include "emulate/calls/cpu_fallback.h"
#include "emulate/calls/full_size/unknown_call.h"
#include "emulate/operators/attention/attention_choice.h"
#include "emulate/operators/factories.h"
#include "emulate/runtime/full_size/unknown.h"
#include "emulate/runtime/gpu_trace.h"
#include "emulate/runtime/timers.h"
#include "guard/nondeterminism.h"
#include "intercept/dispatcher.h"
#include "intercept/foreign.h"
#include "intercept/hand_written.h"
#include "intercept/layouts.h"
#include "intercept/operator_kernel.h"
#include "intercept/operator_lists.h"
#include "intercept/python_operators.h"
#include "intercept/typed_kernel.h"

namespace devsan::intercept {
namespace {

using torch::CppFunction;
using torch::Library;

/// The kernel for an operator with a CPU kernel: typed where its signature is a common one.
void put_operator(Library& library, const c10::OperatorHandle& op, const std::string& name) {
  if (is_cpu_only(name) || is_missing_on_cuda(op, name)) {
    library.impl(name.c_str(), CppFunction::makeFromBoxedFunction<&refuse_cpu_only>());
    return;
  }
  if (const guard::Nondeterminism* alert = guard::nondeterminism_of(name)) {
    put_kernel<AlertingKernel>(library, op, name, *alert);
    return;
  }
  const bool typed =
      !op.schema().is_varret() && !emulate::is_awaited(op) && with_common_signature(op.schema(), [&](auto* signature) {
        using Kernel = TypedKernel<std::remove_pointer_t<decltype(signature)>>;
        library.impl(name.c_str(), Kernel::function(op));
      });
  if (!typed) put_kernel<OperatorKernel>(library, op, name);
}

std::vector<std::unique_ptr<Library>> g_factories;
std::unique_ptr<Library> g_host_factories;
bool g_has_cuda = false;  // this build of torch

/// The factories that have a kernel for `host`, on the key that CUDA's have.
void register_factories_on(c10::DispatchKey key, c10::DispatchKey host) {
  auto library = library_for("aten", key);
  if (key == c10::DispatchKey::CUDA) {
    library->impl("empty.memory_format", TORCH_FN(emulate::empty));
    library->impl("empty_strided", TORCH_FN(emulate::empty_strided));
  }
  for_each_aten_operator([&](const c10::OperatorHandle& op, const std::string& name) {
    const bool written = key == c10::DispatchKey::CUDA && is_made_by_hand(name);
    if (!op.hasKernelForDispatchKey(host) || !takes_device(op.schema()) || written) return;
    if (!takes_tensor(op.schema())) {
      put_kernel<FactoryKernel>(*library, op, name, host);
    } else if (host == c10::DispatchKey::QuantizedCPU) {
      put_kernel<OperatorKernel>(*library, op, name, host);  // a tensor on a GPU that is quantized as a CPU tensor is
    }
  });
  register_layout_on_factories(*library, host);
  g_factories.push_back(std::move(library));
}

/// torch's own on the host, whose placements are noted: see NOTE [Origins].
void register_factories_of_host() {
  auto library = library_for("aten", c10::DispatchKey::CPU);
  library->impl("empty.memory_format", TORCH_FN(emulate::empty_on_host));
  library->impl("empty_strided", TORCH_FN(emulate::empty_strided_on_host));
  library->impl("arange.start_out", TORCH_FN(emulate::arange_out_on_host));
  library->impl("_pin_memory", TORCH_FN(emulate::pin_on_host));
  g_host_factories = std::move(library);
}

/// See NOTE [Numbers of a composite]. The key is included in one thread for one call; all else passes through it.
void register_numbers() {
  library_for("_", emulate::kNumbersKey).release()->fallback(CppFunction::makeFallthrough());
  library_for("aten", emulate::kNumbersKey)
      .release()
      ->impl("bernoulli_.float", TORCH_FN(emulate::bernoulli_of_composite));
}

/// See NOTE [Tensors without numbers].
void call_with_unknown(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const c10::DispatchKeySet below = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, emulate::kUnknownKey);
  emulate::call_unknown(op, plan_of(op).plan, below, stack);
}

void register_unknown() {
  library_for("_", emulate::kUnknownKey).release()->fallback(CppFunction::makeFromBoxedFunction<&call_with_unknown>());
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
    // CUDA has no kernel for _stack: there it is a composite of cat.
    const bool stacks = name == "aten::_stack" || name == "aten::_stack.out";
    const bool runs = (op.hasKernelForDispatchKey(c10::DispatchKey::CPU) && !stacks) || is_taken_whole(name);
    const bool written = op.hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1);  // see hand_written.h
    if (runs && takes_tensor(op.schema()) && !written) put_operator(library, op, name);
    if (is_recurrent(name)) {
      put_kernel<RecurrentKernel>(library, op, name);
      put_kernel<RecurrentKernel>(autograd, op, name);
    } else if (guard::check_of(name).rule == guard::Rule::kGenerated && !runs && !written &&
               op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd)) {
      put_kernel<CheckedCompositeKernel>(library, op, name);
      put_kernel<CheckedCompositeKernel>(autograd, op, name);
    } else if (!runs && op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) &&
               (guard::check_of(name).rule == guard::Rule::kGenerated || guard::has_kernel_check(name))) {
      put_kernel<CheckedCompositeKernel>(library, op, name);
    }
  });
  for (const LayoutKeys& keys : kLayouts) register_layout(*library_for("aten", keys.emulated).release(), keys.host);
  others.fallback(CppFunction::makeFromBoxedFunction<&call_any_operator>());
  register_numbers();
  register_unknown();
  register_collectives();
  emulate::register_reducer_timer();
  emulate::register_attention_choice();
}

void register_factories() {
  const QuietRegistration quiet;
  if (g_host_factories == nullptr) register_factories_of_host();
  if (!g_factories.empty()) return;
  g_has_cuda = has_cuda_kernels();
  take_over_array_interfaces(g_factories);
  if (!g_has_cuda) take_over_foreign_memory(g_factories);
  register_factories_on(c10::DispatchKey::CUDA, c10::DispatchKey::CPU);
  for (const LayoutKeys& keys : kLayouts) register_factories_on(keys.factory, keys.host);
}

// Where torch has none of its own they stay, for operators on tensors that are left.
void unregister_factories() {
  g_host_factories.reset();
  if (g_has_cuda) g_factories.clear();
}

}  // namespace devsan::intercept
