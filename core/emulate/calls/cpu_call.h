#pragma once

#include <vector>

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "emulate/calls/host_tensors.h"
#include "emulate/calls/workspaces.h"
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
  bool is_view = false;            ///< returns a tensor over an argument's memory, and computes nothing
  bool is_placed = false;          ///< takes the device of its results
  bool resizes = false;            ///< is resize_: the old memory is freed when the new one is there
  Workspace workspace;             ///< what CUDA's kernel takes beside its results
  std::vector<bool> written;       ///< per argument: writes it
  std::vector<bool> is_generator;  ///< per argument: it is one, or may be
  std::vector<int> returned;       ///< per return: the written argument that it is, or -1
};

/// Looks where the tensors of a call are, those in lists too; its arguments are at the end of `stack`.
Placement placement_of(const torch::jit::Stack& stack, const CallPlan& plan);

/// Carries out `op` by the CPU kernel that its plan names: arguments become their host aliases, results tensors on
/// `device`, generators the device's stream. In-place and out= operands are the caller's own tensors again afterwards; a
/// result that aliases an operand takes that operand's storage. Memory of results is charged to `device`, and the
/// workspace of CUDA's kernel.
void call_on_cpu(const c10::OperatorHandle& op, const CallPlan& plan, torch::jit::Stack* stack, c10::Device device);

// NOTE [Reduced precision that the CPU lacks]
// CUDA has a float16 (and bfloat16, complex32) kernel for nearly every operator; the CPU has not. Such a call is made
// again in float32 and its results are rounded, which is what most CUDA kernels of these types do inside.

/// Calls the kernel of `op` that `plan` names with the arguments at the end of `stack`, CPU tensors by now. Where the
/// kernel refuses a reduced precision ("not implemented for 'Half'"), makes the call again in the wider type, and brings
/// results and written operands back to the narrow one.
void run_kernel(const c10::OperatorHandle& op, const CallPlan& plan, torch::jit::Stack* stack);

}  // namespace devsan::emulate
