#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include "record/placement.h"

namespace devsan::guard {

/// Which part of torch looks at the devices of an operator's tensors, on CUDA.
enum class Rule {
  kUnknown,         ///< not an operator of native_functions.yaml: the operands must agree
  kGenerated,       ///< the check that torchgen writes into each CUDA wrapper
  kTensorIterator,  ///< TensorIterator: 0-dim CPU operands may join CUDA ones
  kKernel,          ///< the kernel itself, if anything
};

/// The layout of the tensors that a kernel is for; CUDA has kernels, and so checks and names, of its own for each.
enum class Layout { kStrided, kSparse, kSparseCompressed, kNested };

/// The rule of one operator, and the name by which torch's sentence calls its wrapper.
struct OperatorCheck {
  std::string_view op;  ///< "aten::addmm"
  Rule rule = Rule::kUnknown;
  const char* method = "";  ///< "wrapper_CUDA_addmm"
  int host_scalars = 0;     ///< 0-dim CPU operands that may join the others without a look
  Layout layout = Layout::kStrided;
  bool always = false;  ///< checked also where all operands are on one device: the check is about dtypes too
};

/// Whether the kernel of `name` has checks of its own, also where its rule is not kGenerated.
bool has_kernel_check(std::string_view name);

/// The check for `name` ("aten::add.Tensor"), from the native_functions.yaml of the torch that this was built with.
OperatorCheck check_of(std::string_view name, Layout layout = Layout::kStrided);

/// One tensor operand of a refused call.
struct Operand {
  std::string name;    ///< as the schema names it; list elements are "tensors[2]"
  std::string device;  ///< "cuda:1"
  std::string dtype;   ///< "Float"
  std::vector<std::int64_t> shape;
  std::uintptr_t storage = 0;  ///< address of its StorageImpl (torch's `untyped_storage()._cdata`), 0 without one
  record::Origin origin;       ///< how it came to be there: the tensor itself may be gone when somebody asks
};

/// A refused call: what the report is made from.
struct Refusal {
  std::string op;
  std::string message;  ///< torch's own sentence
  std::vector<Operand> operands;
  std::uint64_t number = 0;  ///< of the refusals of this process, from 1 on
};

/// Whether a call needs a device check: its tensors are on several devices, or more of them are 0-dim CPU tensors than
/// the operator takes without a look.
inline bool is_suspect(const OperatorCheck& check, bool mixed, int host_scalars) noexcept {
  return mixed || check.always || host_scalars > check.host_scalars;
}

/// Checks a call whose tensors are on more than one device. Returns if CUDA would go on; otherwise raises torch's own
/// sentence and keeps the facts for `last_refusal`.
/// @param arguments the call's arguments at the end of this stack
void check_devices(const OperatorCheck& check, const c10::FunctionSchema& schema, const torch::jit::Stack& arguments);

/// Keeps the facts of a call that a kernel refused by itself, with `message`, for `last_refusal`.
/// @param arguments the call's arguments at the end of this stack
void remember_refusal(const OperatorCheck& check, const c10::FunctionSchema& schema, const torch::jit::Stack& arguments,
                      std::string message);

/// What tells the origin of a tensor; none is asked while it is null, and none becomes known.
using OriginSource = record::Origin (*)(const at::Tensor&) noexcept;
void set_origin_source(OriginSource source);

/// Called for every refusal, on the thread that makes the call, before its error is raised and after `last_refusal` has
/// the facts. Must not throw.
using RefusalListener = std::function<void()>;
/// Has `listener` called from now on, in place of the one before; empty for none.
void set_refusal_listener(RefusalListener listener);

/// The calling thread's latest refusal (a copy, empty `op` when there was none).
Refusal last_refusal();
/// As `last_refusal`, but the latest of any thread: autograd's workers raise in their caller.
Refusal last_refusal_of_process();
/// The latest refusal of any thread whose message is in `text`; an empty `op` where there is none. The replicas of
/// DataParallel fail side by side, and it raises the error of the first of them.
/// Of the last `kRecent` refusals.
Refusal refusal_in(std::string_view text);
inline constexpr std::size_t kRecent = 64;
/// New GPUs begin without one: the same sentence, raised by the program itself, is not about an earlier call.
void forget_last_refusal();

}  // namespace devsan::guard
