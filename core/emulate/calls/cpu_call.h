#pragma once

#include <vector>

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "emulate/calls/host_tensors.h"
#include "record/placement.h"

namespace devsan::emulate {

/// What an operator's schema says that matters to a call of a CPU kernel, worked out once.
struct CallPlan {
  /// @param kernel the key whose kernel carries the call out: CPU, or that of a sparse layout
  static CallPlan of(const c10::FunctionSchema& schema, c10::DispatchKey kernel = c10::DispatchKey::CPU);

  c10::DispatchKeySet kernel;
  record::OperatorId op = record::kNoOperator;
  std::size_t arguments = 0;
  std::size_t returns = 0;
  bool draws_numbers = false;      ///< takes a Generator
  bool writes = false;             ///< writes some argument (in-place, out=)
  std::vector<bool> written;       ///< per argument: writes it
  std::vector<bool> is_generator;  ///< per argument: it is one, or may be
};

/// Looks where the tensors of a call are, those in lists too; its arguments are at the end of `stack`.
Placement placement_of(const torch::jit::Stack& stack, const CallPlan& plan);

/// Carries out `op` by the CPU kernel that its plan names: arguments become their host aliases, results tensors on
/// `device`, generators the device's stream. In-place and out= operands are the caller's own tensors again afterwards; a
/// result that aliases an operand takes that operand's storage. Memory that the kernel takes is charged to `device`.
void call_on_cpu(const c10::OperatorHandle& op, const CallPlan& plan, torch::jit::Stack* stack, c10::Device device);

}  // namespace devsan::emulate
