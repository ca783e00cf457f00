#pragma once

#include <memory>
#include <optional>
#include <string>

#include <ATen/core/dispatch/Dispatcher.h>

#include "emulate/calls/host_tensors.h"
#include "emulate/calls/workspaces.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/host_allocator.h"
#include "emulate/runtime/kernel_memory.h"
#include "emulate/runtime/origin.h"
#include "emulate/runtime/torch_release.h"
#include "guard/device_check.h"
#include "guard/dtype_check.h"

namespace devsan::intercept {

/// Looks at one unboxed argument of a call: a tensor that is read...
inline void look_at(emulate::Placement& placement, const at::Tensor& argument) {
  placement.look_at(argument, /*written=*/false);
}
/// ... one that is written...
inline void look_at(emulate::Placement& placement, at::Tensor& argument) {
  placement.look_at(argument, /*written=*/true);
}
/// ... one that may be absent...
inline void look_at(emulate::Placement& placement, const std::optional<at::Tensor>& argument) {
  if (argument.has_value()) placement.look_at(*argument, /*written=*/false);
}
/// ... or what is no tensor.
template <typename Argument>
void look_at(emulate::Placement& /*placement*/, const Argument& /*argument*/) {}

/// Looks where the tensors among a call's unboxed arguments are.
template <typename... Arguments>
emulate::Placement placement_of(Arguments&... arguments) {
  emulate::Placement placement;
  (look_at(placement, arguments), ...);
  return placement;
}

/// `emulate::take_origin` of one unboxed argument: a tensor, one that may be absent, or what is no tensor.
inline void take_origin(record::Origin& origin, record::OperatorId op, const at::Tensor& argument) {
  emulate::take_origin(origin, op, argument);
}
inline void take_origin(record::Origin& origin, record::OperatorId op, const std::optional<at::Tensor>& argument) {
  if (argument.has_value()) emulate::take_origin(origin, op, *argument);
}
template <typename Argument>
void take_origin(record::Origin& /*origin*/, record::OperatorId /*op*/, const Argument& /*argument*/) {}

/// Where what `op` computes of a call's unboxed arguments comes from.
template <typename... Arguments>
record::Origin origin_of_results(record::OperatorId op, const Arguments&... arguments) {
  record::Origin origin;
  (take_origin(origin, op, arguments), ...);
  return origin;
}

/// An operator's check of devices and dtypes, made ready once, so that a call looks nothing up.
class DeviceCheck {
 public:
  /// @param kernel the key of the host's kernel that carries the operator out: that of its layout
  explicit DeviceCheck(const c10::OperatorHandle& op, c10::DispatchKey kernel = c10::DispatchKey::CPU)
      : op_(op),
        name_(c10::toString(op.operator_name())),
        operator_(guard::check_of(name_, layout_of(kernel))),
        dtypes_(kernel == c10::DispatchKey::CPU ? guard::dtype_check_of(name_, emulate::torch_release()) : nullptr),
        refused_(dtypes_ == nullptr ? 0 : ~dtypes_->accepted),
        compares_(dtypes_ != nullptr && dtypes_->compare != nullptr) {}
  // The check names the operator by `name_`.
  DeviceCheck(const DeviceCheck&) = delete;
  DeviceCheck& operator=(const DeviceCheck&) = delete;

  /// Checks the devices and dtypes of a call where that is needed: raises torch's own sentence where CUDA would refuse it.
  /// @param placement where the call's tensors are, and what they hold
  /// @param boxed gives the call's arguments as a stack; called only when they are to be checked
  template <typename Boxed>
  void operator()(const emulate::Placement& placement, const Boxed& boxed) const {
    if (C10_UNLIKELY(guard::is_suspect(operator_, placement.mixed, placement.host_scalars))) {
      guard::check_devices(operator_, op_.schema(), boxed());
    }
    if (C10_UNLIKELY(guard::is_suspect(refused_, compares_, placement.dtypes))) {
      guard::check_dtypes(*dtypes_, op_.schema(), boxed());
    }
  }

 private:
  static guard::Layout layout_of(c10::DispatchKey kernel) {
    switch (kernel) {
      case c10::DispatchKey::SparseCPU:
        return guard::Layout::kSparse;
      case c10::DispatchKey::SparseCsrCPU:
        return guard::Layout::kSparseCompressed;
      case c10::DispatchKey::NestedTensorCPU:
        return guard::Layout::kNested;
      default:
        return guard::Layout::kStrided;
    }
  }

  c10::OperatorHandle op_;
  std::string name_;
  guard::OperatorCheck operator_;
  const guard::DtypeCheck* dtypes_;
  guard::DtypeSet refused_;  ///< dtypes that the operator's kernel may not take on CUDA
  bool compares_;            ///< CUDA may not take tensors of several dtypes
};

/// Whether the installed torch has that operator.
inline bool has_operator(const char* name, const char* overload) {
  return c10::Dispatcher::singleton().findSchema({name, overload}).has_value();
}

/// A function that carries out an operator by hand, with the operator's check of devices before it.
template <typename Return, typename... Arguments>
auto device_checked(const char* name, const char* overload, Return (*carry_out)(Arguments...)) {
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
  return [check = std::make_shared<const DeviceCheck>(op), carry_out](Arguments... arguments) -> Return {
    (*check)(placement_of(arguments...), [&] { return torch::jit::Stack{c10::IValue(arguments)...}; });
    return carry_out(arguments...);
  };
}

/// Charges what a kernel returned: a tensor, or several among other things.
template <typename Result>
void keep(emulate::KernelMemory& memory, const Result& result) {
  if constexpr (std::is_same_v<Result, at::Tensor>) {
    if (result.defined()) memory.keep(result);
  }
}
template <typename... Results>
void keep(emulate::KernelMemory& memory, const std::tuple<Results...>& results) {
  std::apply([&](const auto&... result) { (keep(memory, result), ...); }, results);
}

/// The same for an operator that is one kernel on CUDA, though `carry_out` calls others: it takes the memory of its
/// results, and the workspace of CUDA's kernel. See NOTE [Memory of a kernel written by hand].
template <typename Return, typename... Arguments>
auto one_kernel(const char* name, const char* overload, Return (*carry_out)(Arguments...)) {
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
  const std::string full_name = c10::toString(op.operator_name());
  const emulate::Workspace workspace = emulate::workspace_of(full_name);
  const record::OperatorId id = record::Recorder::instance().intern(full_name);
  return [check = std::make_shared<const DeviceCheck>(op), workspace, id, carry_out](Arguments... arguments) -> Return {
    const emulate::Placement placement = placement_of(arguments...);
    (*check)(placement, [&] { return torch::jit::Stack{c10::IValue(arguments)...}; });
    const c10::Device device =
        placement.any ? placement.device : c10::Device(c10::DeviceType::CUDA, emulate::current_device());
    const emulate::OriginScope origin(origin_of_results(id, arguments...));
    emulate::KernelMemory memory(device.index());
    Return result = carry_out(arguments...);
    memory.close();
    keep(memory, result);
    emulate::take_workspace(workspace, /*bytes=*/0, device);
    return result;
  };
}

}  // namespace devsan::intercept
