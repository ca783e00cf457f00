#include "guard/kernel_checks.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <ATen/core/op_registration/adaption.h>
#include <c10/util/Exception.h>

namespace devsan::guard {
namespace {

using Check = bool (*)(const Operands&);

const at::Tensor& tensor(const Operands& operands, std::string_view argument) {
  return *find(operands, argument)->tensor;
}

/// aten/src/ATen/native/TensorAdvancedIndexing.cpp: indices may stay on the CPU, or be where the indexed tensor is.
void check_indices(const Operands& operands, const at::Tensor& self) {
  for (const OperandRef& operand : operands) {
    if (operand.argument != "indices") continue;
    TORCH_CHECK(operand.tensor->is_cpu() || operand.tensor->device() == self.device(), "indices should be either on ",
                at::kCPU, " or on the same device as the indexed tensor (", self.device(), ")");
  }
}

bool index(const Operands& operands) {
  check_indices(operands, tensor(operands, "self"));
  return true;
}

/// `_index_put_impl_` takes a 0-dim value from anywhere, and leaves others to TensorIterator, without its exemption
/// for CPU scalars; under accumulate the CUDA kernel has a sentence of its own.
bool index_put(const Operands& operands) {
  const at::Tensor& self = tensor(operands, "self");
  const at::Tensor& values = tensor(operands, "values");
  check_indices(operands, self);
  if (values.dim() == 0 || values.device() == self.device()) return true;
  const bool self_is_host = self.is_cpu();
  TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ",
              self_is_host ? values.device() : self.device(), " and ", self_is_host ? self.device() : values.device(),
              "!");
}

/// aten/src/ATen/native/cuda/Indexing.cu, masked_fill__cuda: a 0-dim value is read on the host, so it may be anywhere.
bool masked_fill(const Operands& operands) {
  const at::Tensor& self = tensor(operands, "self");
  const at::Tensor& mask = tensor(operands, "mask");
  TORCH_CHECK(!self.is_cpu() || (self.is_cpu() && mask.is_cpu()), "masked_fill_: Expected inputs to be on same device");
  TORCH_CHECK(self.device() == mask.device(), "expected self and mask to be on the same device, but got mask on ",
              mask.device(), " and self on ", self.device());
  return true;
}

/// aten/src/ATen/native/TensorCompare.cpp, where_self_out: 0-dim operands are moved to the first that is not on the CPU.
bool where(const Operands& operands) {
  Operands joined;
  std::copy_if(operands.begin(), operands.end(), std::back_inserter(joined),
               [](const OperandRef& operand) { return operand.is_out || operand.tensor->dim() != 0; });
  if (!joined.empty()) check_tensor_iterator(joined);
  return true;
}

/// "torch.FloatTensor" or "torch.cuda.FloatTensor", as Tensor.toString prints a dense tensor's type.
std::string type_name(const at::Tensor& value) {
  return std::string(value.is_cuda() ? "torch.cuda." : "torch.") + c10::toString(value.scalar_type()) + "Tensor";
}

/// aten/src/ATen/native/Convolution.cpp, check_input_same_type_as_parameters. It compares device types; between two
/// GPUs the check that is generated for cudnn_convolution speaks.
bool convolution(const Operands& operands) {
  const at::Tensor& input = tensor(operands, "input");
  const at::Tensor& weight = tensor(operands, "weight");
  const OperandRef* bias = find(operands, "bias");
  const auto same_type = [&input](const at::Tensor& other) { return input.device().type() == other.device().type(); };
  TORCH_CHECK(same_type(weight), "Input type (", type_name(input), ") and weight type (", type_name(weight),
              ") should be the same");
  TORCH_CHECK(bias == nullptr || same_type(*bias->tensor), "Input type (", type_name(input), ") and bias type (",
              bias == nullptr ? "" : type_name(*bias->tensor), ") should be the same");
  std::optional<c10::Device> common = input.device();
  c10::impl::check_and_update_common_device(common, weight, "wrapper_CUDA__cudnn_convolution", "weight");
  return false;
}

/// Operators that may join devices: a copy is what they do, or they look at no element.
bool accept(const Operands& /*operands*/) { return true; }

struct Row {
  std::string_view op;
  Check check;
};

constexpr std::array kChecks{
    Row{"aten::index.Tensor", index},
    Row{"aten::index.Tensor_out", index},
    Row{"aten::_unsafe_index.Tensor", index},
    Row{"aten::_index_put_impl_", index_put},
    Row{"aten::masked_fill_.Scalar", masked_fill},
    Row{"aten::masked_fill_.Tensor", masked_fill},
    Row{"aten::where.self", where},
    Row{"aten::where.self_out", where},
    Row{"aten::convolution", convolution},
    Row{"aten::is_set_to", accept},
    Row{"aten::is_same_size", accept},
    Row{"aten::_foreach_copy_", accept},
};

}  // namespace

bool check_kernel(std::string_view op, const Operands& operands) {
  const auto* found = std::find_if(kChecks.begin(), kChecks.end(), [&](const Row& row) { return row.op == op; });
  return found != kChecks.end() && found->check(operands);
}

void check_tensor_iterator(const Operands& operands) {
  Operands ordered = operands;
  std::stable_partition(ordered.begin(), ordered.end(), [](const OperandRef& operand) { return operand.is_written; });
  const auto first = std::find_if(ordered.begin(), ordered.end(),
                                  [](const OperandRef& operand) { return !operand.tensor->is_cpu(); });
  if (first == ordered.end()) return;
  const c10::Device common = first->tensor->device();
  int host_scalars = 0;
  for (const OperandRef& operand : ordered) {
    const at::Tensor& value = *operand.tensor;
    if (!operand.is_written && value.is_cpu() && value.dim() == 0) {
      TORCH_CHECK(host_scalars == 0, "Trying to pass too many CPU scalars to non-CPU kernel!");
      ++host_scalars;
    } else if (value.device() != common) {
      TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ", common,
                  " and ", value.device(), "!");
    }
  }
}

}  // namespace devsan::guard
