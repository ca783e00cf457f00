#include "emulate/calls/full_size/unknown_call.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <ATen/ExpandUtils.h>

#include "emulate/calls/each_tensor.h"
#include "emulate/calls/full_size/dtype_probe.h"
#include "emulate/calls/full_size/stand_ins.h"
#include "emulate/calls/full_size/uniform.h"
#include "emulate/calls/full_size/unknown_reads.h"
#include "emulate/calls/meta_call.h"
#include "emulate/runtime/charged_memory.h"
#include "emulate/runtime/full_size/unknown.h"
#include "emulate/runtime/tensor.h"

namespace devsan::emulate {
namespace {

using Arguments = c10::ArrayRef<c10::IValue>;

/// Composites that compute by themselves, and not by the operators that they are made of.
constexpr std::array<std::string_view, 3> kComputingComposites{"aten::copy_", "aten::convolution",
                                                               "aten::convolution_backward"};

bool is_computing_composite(const c10::OperatorHandle& op) {
  return std::find(kComputingComposites.begin(), kComputingComposites.end(), op.operator_name().name) !=
         kComputingComposites.end();
}

bool computes(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CPU) || is_computing_composite(op);
}

/// A composite stands at the key of the meta device, too.
bool has_meta_kernel(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::Meta) || is_computing_composite(op);
}

struct Operands {
  bool any_virtual = false;
  bool any_untouched = false;
  bool any_meta = false;  ///< the program's own: the operator is that device's, and so is what it writes
};

Operands look_at(Arguments arguments) {
  Operands found;
  for (const c10::IValue& argument : arguments) {
    if (!argument.isTensor() && !argument.isList()) continue;
    for_each_tensor(argument, [&](const at::Tensor& tensor) {
      found.any_virtual = found.any_virtual || is_virtual(tensor);
      found.any_untouched = found.any_untouched || is_untouched(tensor);
      found.any_meta = found.any_meta || tensor.is_meta();
    });
  }
  return found;
}

bool returns_tensors(const c10::FunctionSchema& schema) {
  return std::any_of(schema.returns().begin(), schema.returns().end(), [](const c10::Argument& result) {
    return result.type()->isSubtypeOf(*c10::TensorType::get()) ||
           result.type()->isSubtypeOf(*c10::ListType::ofTensors());
  });
}

/// What the Meta kernel did to the size of an operand that is written.
void follow_meta(const at::Tensor& host, const at::Tensor& meta) {
  c10::TensorImpl* impl = host.unsafeGetTensorImpl();
  const std::size_t bytes = meta.storage().nbytes();
  if (impl->sizes() != meta.sizes() || impl->strides() != meta.strides()) {
    if (bytes > impl->unsafe_storage().nbytes()) resize_unknown(host, bytes);
    impl->set_sizes_and_strides(meta.sizes(), meta.strides());
  }
}

void set_written_unknown(Arguments arguments, const CallPlan& plan) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!plan.written[i]) continue;
    for_each_tensor(arguments[i], [](const at::Tensor& tensor) {
      set_unknown(tensor);
      if (tensor.has_storage()) set_answer(tensor.unsafeGetTensorImpl()->unsafe_storage().data_ptr(), std::nullopt);
    });
  }
}

/// Whether the program itself gives an infinity. A written operand no longer says what was given.
bool gives_infinity(Arguments arguments, const CallPlan& plan) {
  bool given = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (plan.written[i]) continue;
    if (arguments[i].isDouble()) given = given || !std::isfinite(arguments[i].toDouble());
    for_each_tensor(arguments[i], [&](const at::Tensor& tensor) { given = given || !is_finite(tensor); });
  }
  return given;
}

/// How stand-ins are written: for which operator, and for an index which.
struct Made {
  std::string_view op;
  std::int64_t index = 0;
  std::optional<bool> answer;  ///< of booleans, where all have the same
};

c10::IValue made_as(const c10::IValue& meta, const Made& how);

c10::IValue made_as(const at::Tensor& meta, const Made& how) {
  if (!meta.defined() || !meta.is_meta()) return meta;
  at::Tensor made = make_unknown(meta.sizes(), meta.strides(), meta.scalar_type());
  if (!is_untouched(made)) {
    write_stand_ins(made, how.op, how.index, how.answer);
  } else if (how.answer) {
    set_answer(made.unsafeGetTensorImpl()->unsafe_storage().data_ptr(), *how.answer);
  }
  return made;
}

c10::IValue made_as(const c10::IValue& meta, const Made& how) {
  if (meta.isTensor()) return made_as(meta.toTensor(), how);
  if (!meta.isTensorList()) return meta;
  c10::List<at::Tensor> made;
  for (const c10::IValue& element : meta.toListRef()) made.push_back(made_as(element.toTensor(), how).toTensor());
  return made;
}

/// The CPU's kernel keeps the statistics of a batch in the type of the weight, and wants them so for the gradients; the
/// Meta kernel makes them as CUDA does, in float32 beside a low precision.
void keep_type_of_statistics(std::string_view op, Arguments arguments, torch::jit::Stack& results) {
  constexpr std::size_t kWeight = 1;
  if (op != "aten::native_batch_norm" && op != "aten::_native_batch_norm_legit") return;
  if (!arguments[kWeight].isTensor()) return;
  const at::ScalarType type = arguments[kWeight].toTensor().scalar_type();
  for (std::size_t i = 1; i < results.size(); ++i) {
    if (results[i].isTensor() && results[i].toTensor().is_meta()) results[i] = results[i].toTensor().to(type);
  }
}

/// Calls the operator's Meta kernel instead of its own.
/// @return false where there is none that can be called here, or the call is refused: its own kernel says why. Nothing has
/// happened then
bool call_without_numbers(const c10::OperatorHandle& op, const CallPlan& plan, torch::jit::Stack* stack) {
  const Arguments arguments(stack->data() + (stack->size() - plan.arguments), plan.arguments);
  torch::jit::Stack meta(arguments.begin(), arguments.end());
  std::vector<at::Tensor> written(plan.arguments);
  if (!has_meta_kernel(op) || refuses_dtypes(op, arguments)) return false;
  for (std::size_t i = 0; i < meta.size(); ++i) {
    if (!to_meta(meta[i])) return false;
    if (plan.written[i] && meta[i].isTensor()) written[i] = meta[i].toTensor();
  }
  try {
    call_converted_meta(op, meta);
  } catch (const std::exception&) {
    return false;
  }
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i].defined() && written[i].is_meta()) follow_meta(arguments[i].toTensor(), written[i]);
  }
  set_written_unknown(arguments, plan);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!plan.written[i]) continue;
    for_each_tensor(arguments[i], [&](const at::Tensor& host) { stand_in_for_written(host, op.operator_name().name); });
  }
  keep_type_of_statistics(op.operator_name().name, arguments, meta);
  Made how{op.operator_name().name, stand_in_index(op.operator_name().name, arguments), std::nullopt};
  if (plan.returns == 1 && meta[0].isTensor() && meta[0].toTensor().defined() &&
      meta[0].toTensor().scalar_type() == at::kBool) {
    how.answer = answer_of(op, arguments);
  }
  for (std::size_t i = 0; i < plan.returns; ++i) {
    meta[i] = plan.returned[i] < 0 ? made_as(meta[i], how) : arguments[static_cast<std::size_t>(plan.returned[i])];
  }
  torch::jit::drop(*stack, plan.arguments);
  std::move(meta.begin(), meta.end(), std::back_inserter(*stack));
  return true;
}

}  // namespace

void call_unknown(const c10::OperatorHandle& op, const CallPlan& plan, c10::DispatchKeySet below,
                  torch::jit::Stack* stack) {
  const Arguments arguments(stack->data() + (stack->size() - plan.arguments), plan.arguments);
  const Operands operands = look_at(arguments);
  if (operands.any_virtual || operands.any_meta || plan.is_view || plan.is_placed || !computes(op)) {
    op.redispatchBoxed(below, stack);
    return;
  }
  const std::string_view name = op.operator_name().name;
  const bool reads = is_read(name);
  if (C10_UNLIKELY(reads)) tell_read(plan.op);
  if (operands.any_untouched) {
    if (C10_UNLIKELY(reads)) {
      if (auto stand_in = chosen_elements(name, arguments)) {
        torch::jit::drop(*stack, plan.arguments);
        stack->push_back(*std::move(stand_in));
        return;
      }
    }
    if (returns_tensors(op.schema()) || plan.writes) {
      if (call_without_numbers(op, plan, stack)) return;
    }
  }
  const torch::jit::Stack kept(arguments.begin(), arguments.end());
  run_kernel(op, plan, stack);
  set_written_unknown(kept, plan);
  bool is_infinite = false;
  const auto results = [&](const auto& use) {
    for (std::size_t i = stack->size() - plan.returns; i < stack->size(); ++i) {
      for_each_tensor((*stack)[i], [&](const at::Tensor& tensor) {
        if (tensor.is_cpu() && !is_virtual(tensor)) use(tensor);
      });
    }
  };
  // Stand-ins are alike, of which a kernel chooses the first one; several choices it makes differ, as they should.
  const bool is_fresh = plan.returns == 1 && plan.returned[0] < 0;  // and not the program's own memory (`out=`)
  const std::int64_t index = is_fresh ? stand_in_index(name, kept) : 0;
  results([&](const at::Tensor& tensor) {
    set_unknown(tensor);
    if (C10_UNLIKELY(index != 0) && tensor.scalar_type() == at::kLong) write_stand_ins(tensor, name, index);
    is_infinite = is_infinite || !is_finite(tensor);
  });
  if (C10_UNLIKELY(is_infinite) && !gives_infinity(kept, plan)) results(&make_finite);
}

}  // namespace devsan::emulate
