#include "guard/kernel_checks.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <utility>

#include <ATen/Context.h>
#include <ATen/core/op_registration/adaption.h>
#include <c10/util/Exception.h>

namespace devsan::guard {
namespace {

using Check = bool (*)(const Call&);

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

bool index(const Call& call) {
  const Operands& operands = call.operands;
  check_indices(operands, tensor(operands, "self"));
  return true;
}

/// `_index_put_impl_` takes a 0-dim value from anywhere, and leaves others to TensorIterator, without its exemption
/// for CPU scalars; under accumulate the CUDA kernel has a sentence of its own.
bool index_put(const Call& call) {
  const Operands& operands = call.operands;
  const at::Tensor& self = tensor(operands, "self");
  const at::Tensor& values = tensor(operands, "values");
  check_indices(operands, self);
  if (values.dim() == 0 || values.device() == self.device()) return true;
  const c10::IValue* accumulate = value_of(call, "accumulate");
  const bool sorts = accumulate != nullptr && accumulate->isBool() && accumulate->toBool();
  TORCH_CHECK(!self.is_cuda() || !(sorts || at::globalContext().deterministicAlgorithms()), "expected device ",
              self.device(), " but got device ", values.device(), " for value tensor");
  const bool self_is_host = self.is_cpu();
  TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ",
              self_is_host ? values.device() : self.device(), " and ", self_is_host ? self.device() : values.device(),
              "!");
}

/// aten/src/ATen/native/cuda/Indexing.cu, masked_fill__cuda: a value in a tensor is read on the host, so it may be
/// anywhere.
bool masked_fill(const Call& call) {
  const at::Tensor& self = tensor(call.operands, "self");
  const at::Tensor& mask = tensor(call.operands, "mask");
  const bool value_is_tensor = value_of(call, "value")->isTensor();
  TORCH_CHECK(!value_is_tensor || !self.is_cpu(), "masked_fill_: Expected inputs to be on same device");
  TORCH_CHECK(self.device() == mask.device(), "expected self and mask to be on the same device, but got mask on ",
              mask.device(), " and self on ", self.device());
  return true;
}

/// aten/src/ATen/native/TensorCompare.cpp, where_self_out: 0-dim operands are moved to the first that is not on the CPU.
bool where(const Call& call) {
  const Operands& operands = call.operands;
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

/// The check that torchgen writes into the wrapper `method`, for a kernel that CUDA chooses and the CPU has not. The pairs
/// are the operand's name here and there.
struct Renamed {
  std::string_view argument;
  const char* as;
};

void check_generated_for(const Operands& operands, const char* method, std::initializer_list<Renamed> arguments) {
  std::optional<c10::Device> common;
  for (const Renamed& renamed : arguments) {
    const OperandRef* operand = find(operands, renamed.argument);
    if (operand != nullptr) c10::impl::check_and_update_common_device(common, *operand->tensor, method, renamed.as);
  }
}

/// aten/src/ATen/native/Convolution.cpp, ConvParams::is_depthwise and use_cudnn_depthwise: a float32 depthwise convolution
/// is torch's own kernel, the others are cuDNN's.
bool is_depthwise(const at::Tensor& input, const at::Tensor& weight) {
  return weight.dim() >= 2 && weight.size(1) == 1 && input.dim() >= 4 && input.size(1) > 1 &&
         weight.size(0) % input.size(1) == 0 && input.scalar_type() == at::kFloat && input.is_contiguous();
}

bool is_transposed(const Call& call) {
  const c10::IValue* transposed = value_of(call, "transposed");
  return transposed != nullptr && transposed->isBool() && transposed->toBool();
}

/// aten/src/ATen/native/Convolution.cpp, check_input_same_type_as_parameters, which sees device types and dtypes; between
/// two GPUs the check that is generated for the chosen kernel speaks, and `bias` is added by TensorIterator.
bool convolution(const Call& call) {
  const Operands& operands = call.operands;
  const at::Tensor& input = tensor(operands, "input");
  const at::Tensor& weight = tensor(operands, "weight");
  const OperandRef* bias = find(operands, "bias");
  const auto same_type = [&input](const at::Tensor& other) {
    return input.device().type() == other.device().type() && input.scalar_type() == other.scalar_type();
  };
  TORCH_CHECK(same_type(weight), "Input type (", type_name(input), ") and weight type (", type_name(weight),
              ") should be the same");
  TORCH_CHECK(bias == nullptr || same_type(*bias->tensor), "Input type (", type_name(input), ") and bias type (",
              bias == nullptr ? "" : type_name(*bias->tensor), ") should be the same");
  if (is_transposed(call)) {
    check_generated_for(operands, "wrapper_CUDA__cudnn_convolution_transpose",
                        {{"input", "self"}, {"weight", "weight"}});
  } else if (is_depthwise(input, weight)) {
    const bool planar = input.dim() == 4;
    check_generated_for(operands, planar ? "wrapper_CUDA___conv_depthwise2d" : "wrapper_CUDA__conv_depthwise3d",
                        {{"input", "self"}, {"weight", "weight"}, {"bias", "bias"}});
  } else {
    check_generated_for(operands, "wrapper_CUDA__cudnn_convolution", {{"input", "self"}, {"weight", "weight"}});
  }
  if (bias != nullptr) check_tensor_iterator({*find(operands, "input"), *bias});
  return true;
}

/// aten/src/ATen/native/Normalization.cpp, _select_batch_norm_backend: cuDNN's kernel for inputs of three and more
/// dimensions with all parameters, torch's own for the others, whose check is the generated one.
bool batch_norm(const Call& call) {
  const Operands& operands = call.operands;
  const at::Tensor& input = tensor(operands, "input");
  const bool has_weights = find(operands, "weight") != nullptr && find(operands, "bias") != nullptr;
  if (!input.is_cuda() || !has_weights || input.dim() < 3 || input.scalar_type() == at::kBFloat16) return false;
  check_generated_for(operands, "wrapper_CUDA__cudnn_batch_norm",
                      {{"input", "input"},
                       {"weight", "weight"},
                       {"bias", "bias"},
                       {"running_mean", "running_mean"},
                       {"running_var", "running_var"}});
  return true;
}

/// aten/src/ATen/native/RNN.h, check_attributes: hidden states first, then parameters, each against the input. The batch
/// sizes of a packed sequence are on the CPU.
bool recurrent(const Call& call) {
  const Operands& operands = call.operands;
  const OperandRef* packed = find(operands, "data");
  const at::Tensor& input = packed != nullptr ? *packed->tensor : tensor(operands, "input");
  for (const auto& [argument, name] :
       {std::pair<std::string_view, const char*>{"hx", "hidden"}, {"params", "parameter"}}) {
    for (const OperandRef& operand : operands) {
      TORCH_CHECK(operand.argument != argument || operand.tensor->device() == input.device(), "Input and ", name,
                  " tensors are not at the same device, found input tensor at ", input.device(), " and ", name,
                  " tensor at ", operand.tensor->device());
    }
  }
  return true;
}

/// aten/src/ATen/native/RNN.cpp: with an input on a GPU the cells multiply, then call a fused kernel; otherwise they are
/// linear layers.
bool recurrent_cell(const Call& call) {
  const Operands& operands = call.operands;
  if (tensor(operands, "input").is_cuda()) {
    check_generated_for(operands, "wrapper_CUDA_mm", {{"input", "self"}, {"w_ih", "mat2"}});
    check_generated_for(operands, "wrapper_CUDA_mm", {{"hx", "self"}, {"w_hh", "mat2"}});
    const bool is_lstm = value_of(call, "hx")->isTensorList();
    check_generated_for(operands,
                        is_lstm ? "wrapper_CUDA___thnn_fused_lstm_cell" : "wrapper_CUDA___thnn_fused_gru_cell",
                        {{"input", "input_gates"}, {"hx", "hx"}, {"b_ih", "input_bias"}, {"b_hh", "hidden_bias"}});
  } else {
    check_generated_for(operands, "wrapper_CUDA_addmm", {{"b_hh", "self"}, {"hx", "mat1"}, {"w_hh", "mat2"}});
    check_generated_for(operands, "wrapper_CUDA_addmm", {{"b_ih", "self"}, {"input", "mat1"}, {"w_ih", "mat2"}});
  }
  return true;
}

/// aten/src/ATen/native/transformers/attention.cpp, validate_sdpa_input; the mask is then an operand of the
/// memory-efficient kernel.
bool attention(const Call& call) {
  const Operands& operands = call.operands;
  const at::Tensor& query = tensor(operands, "query");
  const at::Tensor& key = tensor(operands, "key");
  const at::Tensor& value = tensor(operands, "value");
  TORCH_CHECK(query.dtype() == key.dtype() && query.dtype() == value.dtype(),
              "Expected query, key, and value to have the same dtype, but got query.dtype: ", query.dtype(),
              " key.dtype: ", key.dtype(), " and value.dtype: ", value.dtype(), " instead.");
  TORCH_CHECK(query.device() == key.device() && query.device() == value.device(),
              "Expected query, key, and value to have the same device type, but got query.device: ", query.device(),
              " key.device: ", key.device(), " and value.device: ", value.device(), " instead.");
  TORCH_CHECK(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
              "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ", query.dim(),
              " key.dim: ", key.dim(), " and value.dim: ", value.dim(), " instead.");
  check_generated_for(operands, "wrapper_CUDA___scaled_dot_product_efficient_attention",
                      {{"query", "query"}, {"attn_mask", "attn_bias"}});
  return true;
}

/// aten/src/ATen/native/TensorAdvancedIndexing.cpp, index_fill_: a value in a tensor is read on the host; the index is
/// TensorIterator's, without its exemption for CPU scalars.
bool index_fill(const Call& call) {
  Operands iterated;
  for (const OperandRef& operand : call.operands) {
    if (operand.argument != "value") iterated.push_back(operand);
  }
  check_tensor_iterator(iterated, /*host_scalars=*/0);
  return true;
}

/// aten/src/ATen/native/cuda/Loss.cu: an iterator without the exemption for CPU scalars.
bool without_host_scalars(const Call& call) {
  check_tensor_iterator(call.operands, /*host_scalars=*/0);
  return true;
}

/// Operators that may join devices: a copy is what they do, or they look at no element.
bool accept(const Call& /*call*/) { return true; }

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
    Row{"aten::native_batch_norm", batch_norm},
    Row{"aten::lstm.input", recurrent},
    Row{"aten::lstm.data", recurrent},
    Row{"aten::gru.input", recurrent},
    Row{"aten::gru.data", recurrent},
    Row{"aten::rnn_tanh.input", recurrent},
    Row{"aten::rnn_tanh.data", recurrent},
    Row{"aten::rnn_relu.input", recurrent},
    Row{"aten::rnn_relu.data", recurrent},
    Row{"aten::lstm_cell", recurrent_cell},
    Row{"aten::gru_cell", recurrent_cell},
    Row{"aten::rnn_tanh_cell", recurrent_cell},
    Row{"aten::rnn_relu_cell", recurrent_cell},
    Row{"aten::scaled_dot_product_attention", attention},
    Row{"aten::index_fill_.int_Scalar", index_fill},
    Row{"aten::index_fill_.int_Tensor", index_fill},
    Row{"aten::binary_cross_entropy", without_host_scalars},
    Row{"aten::binary_cross_entropy.out", without_host_scalars},
    Row{"aten::fill_.Tensor", accept},
    Row{"aten::bernoulli_.Tensor", accept},
    Row{"aten::is_set_to", accept},
    Row{"aten::is_same_size", accept},
    Row{"aten::_foreach_copy_", accept},
};

}  // namespace

bool check_kernel(std::string_view op, const Call& call) {
  const auto* found = std::find_if(kChecks.begin(), kChecks.end(), [&](const Row& row) { return row.op == op; });
  return found != kChecks.end() && found->check(call);
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

}  // namespace devsan::guard
