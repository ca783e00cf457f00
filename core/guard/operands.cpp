#include "guard/operands.h"

#include <algorithm>

#include <ATen/ExpandUtils.h>
#include <ATen/core/op_registration/adaption.h>
#include <c10/util/Exception.h>

namespace devsan::guard {

std::string OperandRef::name() const {
  return place < 0 ? std::string(argument) : std::string(argument) + "[" + std::to_string(place) + "]";
}

Operands operands_of(const c10::FunctionSchema& schema, const torch::jit::Stack& arguments) {
  Operands operands;
  const auto& declared = schema.arguments();
  const auto* value = arguments.data() + (arguments.size() - declared.size());
  for (const c10::Argument& argument : declared) {
    const auto* alias = argument.alias_info();
    const bool written = alias != nullptr && alias->isWrite();
    const bool out = written && argument.is_out();
    const auto add = [&](const c10::IValue& item, int place) {
      if (item.isTensor() && item.toTensor().defined()) {
        operands.push_back({&item.toTensor(), argument.name(), place, out, written, argument.kwarg_only()});
      }
    };
    if (value->isTensor()) {
      add(*value, -1);
    } else if (value->isList()) {
      int place = 0;
      for (const c10::IValue& item : value->toListRef()) add(item, place++);
    }
    ++value;
  }
  return operands;
}

const OperandRef* find(const Operands& operands, std::string_view argument) {
  for (const OperandRef& operand : operands) {
    if (operand.argument == argument) return &operand;
  }
  return nullptr;
}

const c10::IValue* value_of(const Call& call, std::string_view argument) {
  const auto& declared = call.schema.arguments();
  const c10::IValue* value = call.arguments.data() + (call.arguments.size() - declared.size());
  for (const c10::Argument& candidate : declared) {
    if (candidate.name() == argument) return value;
    ++value;
  }
  return nullptr;
}

void check_tensor_iterator(const Operands& operands, int host_scalars) {
  Operands ordered = operands;
  std::stable_partition(ordered.begin(), ordered.end(), [](const OperandRef& operand) { return operand.is_written; });
  const auto first =
      std::find_if(ordered.begin(), ordered.end(), [](const OperandRef& operand) { return !operand.tensor->is_cpu(); });
  if (first == ordered.end()) return;
  const c10::Device common = first->tensor->device();
  int seen = 0;
  for (const OperandRef& operand : ordered) {
    const at::Tensor& value = *operand.tensor;
    if (host_scalars > 0 && !operand.is_written && value.is_cpu() && value.dim() == 0) {
      TORCH_CHECK(seen++ < host_scalars, "Trying to pass too many CPU scalars to non-CPU kernel!");
    } else if (value.device() != common) {
      TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ", common,
                  " and ", value.device(), "!");
    }
  }
}

void check_sizes(const Operands& operands) {
  std::vector<std::int64_t> shape;
  for (const OperandRef& operand : operands) {
    if (!operand.is_out) shape = at::infer_size(shape, operand.tensor->sizes());
  }
  for (const OperandRef& operand : operands) {
    // An output that is no operand is resized instead.
    const bool read = std::any_of(operands.begin(), operands.end(), [&](const OperandRef& other) {
      return !other.is_out && other.tensor->is_same(*operand.tensor);
    });
    TORCH_CHECK(!operand.is_written || !read || operand.tensor->sizes() == at::IntArrayRef(shape), "output with shape ",
                operand.tensor->sizes(), " doesn't match the broadcast shape ", at::IntArrayRef(shape));
  }
}

void check_generated_for(const Operands& operands, const char* method, std::initializer_list<Renamed> arguments) {
  std::optional<c10::Device> common;
  for (const Renamed& renamed : arguments) {
    const OperandRef* operand = find(operands, renamed.argument);
    if (operand != nullptr) c10::impl::check_and_update_common_device(common, *operand->tensor, method, renamed.as);
  }
}

}  // namespace devsan::guard
