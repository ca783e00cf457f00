#pragma once

#include "emulate/calls/cpu_call.h"
#include "intercept/device_check.h"

namespace devsan::intercept {

/// What a boxed kernel knows of its operator, worked out once: what the schema says, and the check of devices.
struct CheckedPlan {
  explicit CheckedPlan(const c10::OperatorHandle& op, c10::DispatchKey kernel = c10::DispatchKey::CPU)
      : plan(emulate::CallPlan::of(op.schema(), kernel)), check(op, kernel) {}

  /// Checks the devices of the call with the arguments at the end of `stack`; says on which device its results belong.
  c10::Device device_of(const torch::jit::Stack& stack) const;

  emulate::CallPlan plan;
  DeviceCheck check;
};

/// The plan of an operator that no kernel of its own was registered for. Made at its first call and kept until the
/// operator is taken back; a later call takes no lock.
const CheckedPlan& plan_of(const c10::OperatorHandle& op);

}  // namespace devsan::intercept
