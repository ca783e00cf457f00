#include "emulate/calls/full_size/uniform.h"

#include <vector>

#include <ATen/Functions.h>

#include "emulate/calls/full_size/stand_ins.h"
#include "emulate/runtime/charged_memory.h"
#include "emulate/runtime/full_size/unknown.h"
#include "emulate/runtime/host_allocator.h"

namespace devsan::emulate {
namespace {

/// A tensor of one element that has the stand-in of all elements of `tensor`; undefined where that is not known.
at::Tensor one_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  if (!is_untouched(tensor)) return tensor.numel() == 1 ? tensor : at::Tensor();
  c10::Scalar number = stand_in_number(tensor.scalar_type()).toScalar();
  if (tensor.scalar_type() == at::kBool) {
    const std::optional<bool> kept = answer_in(tensor.unsafeGetTensorImpl()->unsafe_storage().data_ptr());
    if (!kept) return {};
    number = *kept;
  }
  const std::vector<std::int64_t> sizes(static_cast<std::size_t>(tensor.dim()), 1);
  return at::full(sizes, number, at::TensorOptions(at::kCPU).dtype(tensor.scalar_type()));
}

/// Whether the elements of the result are alike where those of the operands are. What puts elements elsewhere, or leaves some
/// out (tril, scatter, index), has other elements beside them.
bool treats_all_alike(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  if (schema.is_mutable() || schema.returns().size() != 1 ||
      !schema.returns()[0].type()->isSubtypeOf(*c10::TensorType::get())) {
    return false;
  }
  return schema.name() == "aten::any" || schema.name() == "aten::all" || op.hasTag(at::Tag::pointwise);
}

}  // namespace

std::optional<bool> answer_of(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
  if (!treats_all_alike(op)) return std::nullopt;
  const DeviceScope uncharged(/*index=*/-1);
  torch::jit::Stack stack;
  try {
    for (const c10::IValue& argument : arguments) {
      if (argument.isTensorList()) return std::nullopt;
      if (argument.isTensor() && argument.toTensor().defined()) {
        at::Tensor one = one_of(argument.toTensor());
        if (!one.defined()) return std::nullopt;
        stack.emplace_back(std::move(one));
      } else {
        stack.push_back(argument);
      }
    }
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
  } catch (const std::exception&) {  // what one element has no room for, or a dtype that nothing is computed with
    return std::nullopt;
  }
  const at::Tensor result = stack.back().toTensor();
  if (result.numel() != 1 || result.scalar_type() != at::kBool) return std::nullopt;
  return *static_cast<const bool*>(result.unsafeGetTensorImpl()->data());
}

}  // namespace devsan::emulate
