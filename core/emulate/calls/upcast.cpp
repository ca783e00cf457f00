#include "emulate/calls/cpu_call.h"

#include <cstring>

#include <c10/util/SmallVector.h>

#include "emulate/calls/each_tensor.h"

namespace devsan::emulate {
namespace {

bool is_narrow(at::ScalarType type) { return type == at::kHalf || type == at::kBFloat16 || type == at::kComplexHalf; }

at::ScalarType wide(at::ScalarType type) { return type == at::kComplexHalf ? at::kComplexFloat : at::kFloat; }

/// The first reduced precision among the arguments, or Undefined.
at::ScalarType narrow_type_in(const c10::IValue* argument, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i, ++argument) {
    if (argument->isTensor()) {
      const at::Tensor& tensor = argument->toTensor();
      if (tensor.defined() && is_narrow(tensor.scalar_type())) return tensor.scalar_type();
    } else if (argument->isTensorList()) {
      for (const c10::IValue& element : argument->toListRef()) {
        if (is_narrow(element.toTensor().scalar_type())) return element.toTensor().scalar_type();
      }
    }
  }
  return at::ScalarType::Undefined;
}

/// AT_DISPATCH's refusal (aten/src/ATen/Dispatch.h) and oneDNN's and BLAS's of a type that this CPU cannot do, and that
/// of MKL's transforms (aten/src/ATen/native/mkl/SpectralOps.cpp).
bool is_about_type(const c10::Error& error) {
  const char* text = error.what_without_backtrace();
  for (const char* type : {"'Half'", "'BFloat16'", "'ComplexHalf'"}) {
    if (std::strstr(text, "not implemented for") != nullptr && std::strstr(text, type) != nullptr) return true;
  }
  for (const char* type : {"type: Half", "type: ComplexHalf"}) {
    if (std::strstr(text, "FFT doesn't support tensors of") != nullptr && std::strstr(text, type) != nullptr)
      return true;
  }
  return false;
}

class UpcastCall {
 public:
  explicit UpcastCall(at::ScalarType narrow) : narrow_(narrow) {}

  void send(c10::IValue& argument, const c10::Argument& declared, bool written) {
    change_each_tensor(argument, [&](const at::Tensor& tensor) { return upcast(tensor, written); });
    if (argument.isInt() && declared.name() == "dtype") {
      const auto asked = static_cast<at::ScalarType>(argument.toInt());
      keeps_wide_ = !is_narrow(asked);
      if (is_narrow(asked)) argument = static_cast<std::int64_t>(wide(asked));
    }
  }

  void take_back(c10::IValue& result) const {
    change_each_tensor(result, [this](const at::Tensor& tensor) { return narrowed(tensor); });
  }

  /// Rounds what the kernel wrote into the caller's operands.
  void follow_writes() const {
    for (const Upcast& operand : written_) {
      if (operand.narrow.sizes() != operand.wide.sizes()) operand.narrow.resize_(operand.wide.sizes());
      operand.narrow.copy_(operand.wide);
    }
  }

 private:
  struct Upcast {
    at::Tensor narrow;
    at::Tensor wide;
  };

  at::Tensor upcast(const at::Tensor& tensor, bool written) {
    if (!tensor.defined() || !is_narrow(tensor.scalar_type())) return tensor;
    at::Tensor copy = tensor.to(wide(tensor.scalar_type()));
    if (written) written_.push_back({tensor, copy});
    return copy;
  }

  at::Tensor narrowed(const at::Tensor& result) const {
    if (!result.defined()) return result;
    for (const Upcast& operand : written_) {
      if (operand.wide.is_same(result)) return operand.narrow;
    }
    const bool is_wide = result.scalar_type() == at::kFloat || result.scalar_type() == at::kComplexFloat;
    if (!is_wide || keeps_wide_) return result;
    const bool complex = result.scalar_type() == at::kComplexFloat;
    return result.to(complex ? at::kComplexHalf : (narrow_ == at::kComplexHalf ? at::kHalf : narrow_));
  }

  at::ScalarType narrow_;
  bool keeps_wide_ = false;
  c10::SmallVector<Upcast, 4> written_;
};

}  // namespace

void run_kernel(const c10::OperatorHandle& op, const CallPlan& plan, torch::jit::Stack* stack) {
  const at::ScalarType narrow = narrow_type_in(stack->data() + (stack->size() - plan.arguments), plan.arguments);
  if (C10_LIKELY(narrow == at::ScalarType::Undefined)) {
    op.redispatchBoxed(plan.kernel, stack);
    return;
  }
  const auto first = static_cast<std::ptrdiff_t>(stack->size() - plan.arguments);
  const torch::jit::Stack arguments(stack->begin() + first, stack->end());
  try {
    op.redispatchBoxed(plan.kernel, stack);
    return;
  } catch (const c10::Error& error) {
    if (!is_about_type(error)) throw;
  }
  stack->resize(static_cast<std::size_t>(first));
  UpcastCall call(narrow);
  for (std::size_t i = 0; i < plan.arguments; ++i) {
    c10::IValue argument = arguments[i];
    call.send(argument, op.schema().arguments()[i], plan.written[i]);
    stack->push_back(std::move(argument));
  }
  op.redispatchBoxed(plan.kernel, stack);
  call.follow_writes();
  for (std::size_t i = stack->size() - plan.returns; i < stack->size(); ++i) call.take_back((*stack)[i]);
}

}  // namespace devsan::emulate
