#include "guard/kernel_checks.h"

#include <algorithm>
#include <iterator>

#include <ATen/Context.h>
#include <c10/util/Exception.h>

#include "guard/operands.h"

namespace devsan::guard {
namespace {

bool is_mask(const at::Tensor& index) { return index.scalar_type() == at::kBool || index.scalar_type() == at::kByte; }

/// aten/src/ATen/native/TensorAdvancedIndexing.cpp, canDispatchToMaskedFill: one CPU element written through one mask is
/// read on the host.
bool fills_a_mask(const Call& call, const at::Tensor& self, const at::Tensor& values) {
  if (values.numel() != 1 || !values.is_cpu()) return false;
  int masks = 0;
  for (const OperandRef& operand : call.operands) {
    if (operand.argument != "indices") continue;
    if (!is_mask(*operand.tensor) || operand.tensor->device() != self.device()) return false;
    ++masks;
  }
  return masks == 1;
}

[[noreturn]] void refuse_two(c10::Device common, c10::Device other) {
  TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ", common, " and ",
              other, "!");
}

/// aten/src/ATen/native/TensorAdvancedIndexing.cpp, the meta function of index.Tensor: indices may stay on the CPU, or be
/// where the indexed tensor is. The result of the out= form is TensorIterator's.
bool check_index(const Call& call) {
  const at::Tensor& self = tensor(call.operands, "self");
  Operands iterated;
  for (const OperandRef& operand : call.operands) {
    if (operand.argument != "indices") {
      iterated.push_back(operand);
      continue;
    }
    TORCH_CHECK(operand.tensor->is_cpu() || operand.tensor->device() == self.device(), "indices should be either on ",
                at::kCPU, " or on the same device as the indexed tensor (", self.device(), ")");
  }
  check_tensor_iterator(iterated, /*host_scalars=*/0);
  return true;
}

/// `_index_put_impl_` moves its indices to the tensor (IndexingUtils.h, expandTensors) and a 0-dim value too, and leaves
/// other values to TensorIterator, without its exemption for CPU scalars; under accumulate the CUDA kernel has a sentence
/// of its own.
bool check_index_put(const Call& call) {
  const at::Tensor& self = tensor(call.operands, "self");
  const at::Tensor& values = tensor(call.operands, "values");
  const c10::IValue* accumulate = value_of(call, "accumulate");
  const bool sorts = accumulate != nullptr && accumulate->isBool() && accumulate->toBool();
  if (values.dim() == 0 || values.device() == self.device()) return true;
  if (!sorts && fills_a_mask(call, self, values)) return true;
  TORCH_CHECK(!self.is_cuda() || !(sorts || at::globalContext().deterministicAlgorithms()), "expected device ",
              self.device(), " but got device ", values.device(), " for value tensor");
  if (self.is_cpu()) refuse_two(values.device(), self.device());
  refuse_two(self.device(), values.device());
}

/// aten/src/ATen/native/TensorAdvancedIndexing.cpp, index_fill_: a value in a tensor is read on the host; the index is
/// TensorIterator's, without its exemption for CPU scalars.
bool check_index_fill(const Call& call) {
  Operands iterated;
  std::copy_if(call.operands.begin(), call.operands.end(), std::back_inserter(iterated),
               [](const OperandRef& operand) { return operand.argument != "value"; });
  check_tensor_iterator(iterated, /*host_scalars=*/0);
  return true;
}

/// aten/src/ATen/native/cuda/Indexing.cu, masked_fill__cuda: a value in a tensor is read on the host, so it may be
/// anywhere.
bool check_masked_fill(const Call& call) {
  const at::Tensor& self = tensor(call.operands, "self");
  const at::Tensor& mask = tensor(call.operands, "mask");
  const bool value_is_tensor = value_of(call, "value")->isTensor();
  TORCH_CHECK(!value_is_tensor || !self.is_cpu(), "masked_fill_: Expected inputs to be on same device");
  TORCH_CHECK(self.device() == mask.device(), "expected self and mask to be on the same device, but got mask on ",
              mask.device(), " and self on ", self.device());
  return true;
}

/// aten/src/ATen/native/TensorCompare.cpp, where and where_self_out: the result is where the first operand is that is not
/// on the CPU, 0-dim ones among them; if that is a GPU, 0-dim operands are moved to it.
bool check_where(const Call& call) {
  const OperandRef* out = find(call.operands, "out");
  c10::Device home = at::kCPU;
  for (const OperandRef& operand : call.operands) {
    if (home.is_cpu() && operand.tensor != (out == nullptr ? nullptr : out->tensor)) home = operand.tensor->device();
  }
  if (out != nullptr) home = out->tensor->device();
  for (const OperandRef& operand : call.operands) {
    const at::Tensor& value = *operand.tensor;
    if (value.device() == home || (!home.is_cpu() && value.dim() == 0 && !operand.is_out)) continue;
    if (home.is_cpu()) refuse_two(value.device(), home);
    refuse_two(home, value.device());
  }
  return true;
}

/// aten/src/ATen/native/BucketizationUtils.h, searchsorted_pre_check.
bool check_sorter(const Call& call) {
  const OperandRef* sorter = find(call.operands, "sorter");
  const at::Tensor& boundaries = tensor(call.operands, "sorted_sequence");
  TORCH_CHECK(sorter == nullptr || sorter->tensor->device() == boundaries.device(),
              "torch.searchsorted(): sorter and boundary tensors should have same device type, but got sorter tensor "
              "device type ",
              sorter == nullptr ? c10::Device(at::kCPU) : sorter->tensor->device(),
              " and input value tensor device type ", boundaries.device());
  return true;
}

}  // namespace

std::span<const KernelCheck> indexing_checks() {
  static constexpr KernelCheck kChecks[] = {
      {.op = "aten::index.Tensor", .check = check_index},
      {.op = "aten::index.Tensor_out", .check = check_index},
      {.op = "aten::_unsafe_index.Tensor", .check = check_index},
      {.op = "aten::_index_put_impl_", .check = check_index_put, .host_scalars = 1},
      {.op = "aten::masked_fill_.Scalar", .check = check_masked_fill},
      {.op = "aten::masked_fill_.Tensor", .check = check_masked_fill},
      {.op = "aten::where.self", .check = check_where, .host_scalars = 2},
      {.op = "aten::where.self_out", .check = check_where},
      {.op = "aten::index_fill_.int_Scalar", .check = check_index_fill},
      {.op = "aten::index_fill_.int_Tensor", .check = check_index_fill},
      {.op = "aten::searchsorted.Tensor", .check = check_sorter, .is_further = true},
      {.op = "aten::searchsorted.Tensor_out", .check = check_sorter, .is_further = true},
      {.op = "aten::searchsorted.Scalar", .check = check_sorter, .is_further = true},
      {.op = "aten::searchsorted.Scalar_out", .check = check_sorter, .is_further = true},
  };
  return kChecks;
}

}  // namespace devsan::guard
