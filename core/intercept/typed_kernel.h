#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "emulate/calls/cpu_call.h"
#include "emulate/calls/cuda_words.h"
#include "emulate/calls/expected_results.h"
#include "emulate/calls/workspaces.h"
#include "emulate/runtime/host_allocator.h"
#include "intercept/device_check.h"
#include "record/recorder.h"

namespace devsan::intercept {

// NOTE [Typed kernels]
// OperatorKernel takes its arguments boxed, in a vector of IValues that is made for each call and taken apart again for
// the CPU kernel. For the small operators of which a step runs thousands that costs as much as their arithmetic. The
// commonest signatures therefore have a kernel that takes the arguments as they are; what it does is the same.

template <typename Signature>
class TypedKernel;

/// OperatorKernel for the operators of one C++ signature: tensors, scalars and numbers in, one tensor out. A returned
/// reference is the first argument, which the operator writes and does not resize.
template <typename Return, typename... Arguments>
class TypedKernel<Return(Arguments...)> {
 public:
  /// The kernel for `op`, in the form that the dispatcher takes.
  static auto function(const c10::OperatorHandle& op) {
    return [kernel = std::make_shared<TypedKernel>(op)](Arguments... arguments) -> Return {
      return (*kernel)(arguments...);
    };
  }

  explicit TypedKernel(const c10::OperatorHandle& op)
      : op_(op.typed<Return(Arguments...)>()), plan_(emulate::CallPlan::of(op.schema())), check_(op) {}

  Return operator()(Arguments... arguments) {
    const emulate::Placement placement = placement_of(arguments...);
    check_(placement, [&] { return torch::jit::Stack{c10::IValue(arguments)...}; });
    const c10::Device device = placement.device;
    try {
      emulate::HostTensors tensors;
      // In braces the arguments are evaluated from the left: the first operand's origin is the result's.
      const std::tuple<decltype(on_host(tensors, arguments))...> hosts{on_host(tensors, arguments)...};
      if (C10_UNLIKELY(tensors.any_unknown())) return call_boxed(device, arguments...);
      if constexpr (std::is_reference_v<Return>) {
        call(tensors, device, hosts);
        return std::get<0>(std::tie(arguments...));
      } else {
        at::Tensor result = tensors.take_back(call(tensors, device, hosts), device);
        if (C10_UNLIKELY(plan_.workspace.is_needed())) {
          const auto bytes = plan_.workspace.bytes;
          emulate::take_workspace(plan_.workspace,
                                  bytes == nullptr ? 0 : bytes(torch::jit::Stack{c10::IValue(arguments)...}), device);
        }
        return result;
      }
    } catch (const c10::NotImplementedError&) {
      // The boxed call knows what to do with a type that the CPU lacks. See NOTE [Reduced precision that the CPU lacks].
      return call_boxed(device, arguments...);
    } catch (const c10::Error& error) {
      emulate::raise_in_words_of_cuda(op_.schema(), {c10::IValue(arguments)...}, error);
      throw;
    }
  }

 private:
  template <typename Argument>
  static constexpr bool kIsTensor = std::is_same_v<std::decay_t<Argument>, at::Tensor>;

  template <typename Argument>
  static decltype(auto) on_host(emulate::HostTensors& tensors, Argument& argument) {
    if constexpr (kIsTensor<Argument>) {
      static_assert(sizeof...(Arguments) <= emulate::HostTensors::kFew + 1);
      // A kernel that writes takes its alias by a non-const reference; the alias is this call's own.
      using Reference = std::conditional_t<std::is_const_v<Argument>, const at::Tensor&, at::Tensor&>;
      return const_cast<Reference>(
          emulate::is_virtual(argument)
              ? tensors.alias(c10::MaybeOwned<at::Tensor>::borrowed(argument), /*written=*/false)
              : tensors.as_it_is(argument));
    } else {
      return argument;
    }
  }

  Return call_boxed(c10::Device device, Arguments... arguments) {
    torch::jit::Stack stack{c10::IValue(arguments)...};
    emulate::call_on_cpu(op_, plan_, &stack, device);
    if constexpr (std::is_reference_v<Return>) {
      return std::get<0>(std::tie(arguments...));
    } else {
      return std::move(stack.back()).toTensor();
    }
  }

  template <typename Hosts>
  Return call(const emulate::HostTensors& tensors, c10::Device device, const Hosts& hosts) {
    const at::AutoDispatchBelowADInplaceOrView below;
    const auto boxed = [&] {
      return std::apply([](const auto&... host) { return torch::jit::Stack{c10::IValue(host)...}; }, hosts);
    };
    emulate::ResultsOfCall results(op_, boxed);
    const emulate::DeviceScope scope(device.index(), tensors.origin(plan_.op), &results);
    return std::apply(
        [&](auto&... host) -> Return { return op_.redispatch(c10::DispatchKeySet(c10::DispatchKey::CPU), host...); },
        hosts);
  }

  c10::TypedOperatorHandle<Return(Arguments...)> op_;
  emulate::CallPlan plan_;
  DeviceCheck check_;
};

/// The schema's argument and return types in short: T a tensor that is read, W one that is written and not out=, S a
/// Scalar, i an int, b a bool, f a float, ? anything else; a colon before the returns. "TTS:T" is add.Tensor's.
std::string shape_of(const c10::FunctionSchema& schema);

/// Calls `visit` with a pointer to the signature (a function type) of `schema` when it is one of the common ones.
/// @return false when it is not
template <typename Visit>
bool with_common_signature(const c10::FunctionSchema& schema, const Visit& visit) {
  using T = const at::Tensor&;
  using W = at::Tensor&;
  using S = const at::Scalar&;
  const std::string shape = shape_of(schema);
  const auto is = [&](const char* text, auto* signature) {
    if (shape != text) return false;
    visit(signature);
    return true;
  };
  return is("T:T", static_cast<at::Tensor (*)(T)>(nullptr)) || is("TT:T", static_cast<at::Tensor (*)(T, T)>(nullptr)) ||
         is("TS:T", static_cast<at::Tensor (*)(T, S)>(nullptr)) ||
         is("TTS:T", static_cast<at::Tensor (*)(T, T, S)>(nullptr)) ||
         is("TTTS:T", static_cast<at::Tensor (*)(T, T, T, S)>(nullptr)) ||
         is("TTTSS:T", static_cast<at::Tensor (*)(T, T, T, S, S)>(nullptr)) ||
         is("Tib:T", static_cast<at::Tensor (*)(T, std::int64_t, bool)>(nullptr)) ||
         is("TTi:T", static_cast<at::Tensor (*)(T, T, std::int64_t)>(nullptr)) ||
         is("TiT:T", static_cast<at::Tensor (*)(T, std::int64_t, T)>(nullptr)) ||
         is("W:W", static_cast<W (*)(W)>(nullptr)) || is("WT:W", static_cast<W (*)(W, T)>(nullptr)) ||
         is("WS:W", static_cast<W (*)(W, S)>(nullptr)) || is("WTS:W", static_cast<W (*)(W, T, S)>(nullptr)) ||
         is("WTTS:W", static_cast<W (*)(W, T, T, S)>(nullptr));
}

}  // namespace devsan::intercept
