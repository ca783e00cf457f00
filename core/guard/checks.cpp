#include "guard/checks.h"

#include <algorithm>

#include <ATen/ExpandUtils.h>
#include <ATen/core/op_registration/adaption.h>
#include <c10/util/Exception.h>

namespace devsan::guard {

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
