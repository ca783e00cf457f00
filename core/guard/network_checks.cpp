#include "guard/kernel_checks.h"

#include <utility>

#include <ATen/core/op_registration/adaption.h>
#include <ATen/ops/convolution_native.h>
#include <c10/util/Exception.h>

#include "guard/operands.h"

namespace devsan::guard {
namespace {

/// "torch.FloatTensor" or "torch.cuda.FloatTensor", as Tensor.toString prints a dense tensor's type.
std::string type_name(const at::Tensor& value) {
  return std::string(value.is_cuda() ? "torch.cuda." : "torch.") + c10::toString(value.scalar_type()) + "Tensor";
}

/// aten/src/ATen/native/Convolution.cpp, ConvParams::is_depthwise and use_cudnn_depthwise: a float32 depthwise convolution
/// is torch's own kernel, the others are cuDNN's.
bool is_depthwise(const Call& call, const at::Tensor& input, const at::Tensor& weight) {
  const std::int64_t groups = value_of(call, "groups")->toInt();
  return input.dim() >= 4 && groups > 1 && input.size(1) == groups && weight.size(0) % groups == 0 &&
         input.scalar_type() == at::kFloat && input.is_contiguous();
}

bool is_transposed(const Call& call) {
  const c10::IValue* transposed = value_of(call, "transposed");
  return transposed != nullptr && transposed->isBool() && transposed->toBool();
}

/// aten/src/ATen/native/Convolution.cpp, check_shape_forward, in short: shapes that it refuses, or that it might.
bool has_odd_shapes(const at::Tensor& input, const at::Tensor& weight, const OperandRef* bias) {
  return weight.dim() < 3 || input.dim() != weight.dim() || (bias != nullptr && bias->tensor->dim() != 1);
}

/// torch's own composite, for what it raises: errors about shapes, and for an input on the CPU the choice between MKL-DNN,
/// which compares types, and torch's kernels, whose operands the generated checks compare.
void run_composite(const Call& call) {
  const auto& arguments = call.arguments;
  const c10::IValue* value = arguments.data() + (arguments.size() - call.schema.arguments().size());
  at::native::convolution(value[0].toTensor(), value[1].toTensor(), value[2].toOptional<at::Tensor>(),
                          value[3].toIntVector(), value[4].toIntVector(), value[5].toIntVector(), value[6].toBool(),
                          value[7].toIntVector(), value[8].toInt());
}

/// aten/src/ATen/native/Convolution.cpp, check_input_same_type_as_parameters, which sees device types and dtypes; between
/// two GPUs the check that is generated for the chosen kernel speaks, and `bias` is added by TensorIterator.
bool check_convolution(const Call& call) {
  const Operands& operands = call.operands;
  const at::Tensor& input = tensor(operands, "input");
  const at::Tensor& weight = tensor(operands, "weight");
  const OperandRef* bias = find(operands, "bias");
  const auto alike = [&input](const at::Tensor& other) {
    return input.device() == other.device() && input.scalar_type() == other.scalar_type();
  };
  if (alike(weight) && (bias == nullptr || alike(*bias->tensor))) return true;
  if (!input.is_cuda() || has_odd_shapes(input, weight, bias)) {
    run_composite(call);
    return true;
  }
  const auto same_type = [&input](const at::Tensor& other) {
    return input.device().type() == other.device().type() && input.scalar_type() == other.scalar_type();
  };
  if (!is_transposed(call) && is_depthwise(call, input, weight)) {
    const bool planar = input.dim() == 4;
    check_generated_for(operands, planar ? "wrapper_CUDA___conv_depthwise2d" : "wrapper_CUDA__conv_depthwise3d",
                        {{"input", "self"}, {"weight", "weight"}, {"bias", "bias"}});
    return true;
  }
  TORCH_CHECK(same_type(weight), "Input type (", type_name(input), ") and weight type (", type_name(weight),
              ") should be the same");
  TORCH_CHECK(bias == nullptr || same_type(*bias->tensor), "Input type (", type_name(input), ") and bias type (",
              bias == nullptr ? "" : type_name(*bias->tensor), ") should be the same");
  if (is_transposed(call)) {
    check_generated_for(operands, "wrapper_CUDA__cudnn_convolution_transpose",
                        {{"input", "self"}, {"weight", "weight"}});
  } else {
    check_generated_for(operands, "wrapper_CUDA__cudnn_convolution", {{"input", "self"}, {"weight", "weight"}});
  }
  if (bias != nullptr) check_tensor_iterator({*find(operands, "input"), *bias});
  return true;
}

/// aten/src/ATen/native/Normalization.cpp, _select_batch_norm_backend: cuDNN's kernel for inputs of three and more
/// dimensions with all parameters, torch's own for the others, whose check is the generated one.
bool check_batch_norm(const Call& call) {
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
bool check_recurrent(const Call& call) {
  const Operands& operands = call.operands;
  for (const OperandRef& operand : operands) {
    // The states of an LSTM are asked for their sizes first.
    if (operand.argument == "hx" && operand.place >= 0 && operand.tensor->dim() == 0) return true;
  }
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

/// aten/src/ATen/native/RNN.cpp: with an input on a GPU the gated cells multiply, then call a fused kernel; otherwise, and
/// for the simple cells, they are linear layers. Operands of no dimensions, but for biases, are refused for their sizes.
bool check_recurrent_cell(const Call& call) {
  const Operands& operands = call.operands;
  for (const OperandRef& operand : operands) {
    const bool is_bias = operand.argument.substr(0, 2) == "b_";
    if (operand.tensor->dim() == 0 && !is_bias) return true;
  }
  const c10::IValue* hidden = value_of(call, "hx");
  const bool is_lstm = hidden->isTensorList();
  const bool is_simple = call.schema.name().rfind("aten::rnn_", 0) == 0;
  if (!is_simple && tensor(operands, "input").is_cuda()) {
    check_generated_for(operands, "wrapper_CUDA_mm", {{"input", "self"}, {"w_ih", "mat2"}});
    check_generated_for(operands, "wrapper_CUDA_mm", {{"hx", "self"}, {"w_hh", "mat2"}});
    const char* fused = is_lstm ? "wrapper_CUDA___thnn_fused_lstm_cell" : "wrapper_CUDA___thnn_fused_gru_cell";
    check_generated_for(operands, fused,
                        {{"input", "input_gates"}, {"hx", "hx"}, {"b_ih", "input_bias"}, {"b_hh", "hidden_bias"}});
    const c10::Device device = tensor(operands, "input").device();
    for (const OperandRef& operand : operands) {
      if (operand.argument != "hx" || operand.place < 1) continue;
      std::optional<c10::Device> common = device;
      c10::impl::check_and_update_common_device(common, *operand.tensor, fused, "cx");
    }
  } else {
    check_generated_for(operands, "wrapper_CUDA_addmm", {{"b_hh", "self"}, {"hx", "mat1"}, {"w_hh", "mat2"}});
    check_generated_for(operands, "wrapper_CUDA_addmm", {{"b_ih", "self"}, {"input", "mat1"}, {"w_ih", "mat2"}});
    if (is_lstm) {
      Operands gated;
      for (const OperandRef& operand : operands) {
        if (operand.argument == "input" || operand.place > 0) gated.push_back(operand);
      }
      check_tensor_iterator(gated);
    }
  }
  return true;
}

/// aten/src/ATen/native/transformers/attention.cpp, validate_sdpa_input; the mask is then an operand of the
/// memory-efficient kernel. A float32 mask beside a query of 16 bits passes here: the kernel that is chosen decides.
bool check_attention(const Call& call) {
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
  if (const OperandRef* mask = find(operands, "attn_mask"); mask != nullptr) {
    const at::ScalarType type = mask->tensor->scalar_type();
    TORCH_CHECK(type == at::kBool || type == at::kFloat || type == query.scalar_type(),
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: ",
                mask->tensor->dtype(), " and  query.dtype: ", query.dtype(), " instead.");
  }
  check_generated_for(operands, "wrapper_CUDA___scaled_dot_product_efficient_attention",
                      {{"query", "query"}, {"attn_mask", "attn_bias"}});
  return true;
}

/// aten/src/ATen/native/transformers/cuda/attention_backward.cu: pointers go to the kernels as they are, without a look at
/// the devices; what would read foreign memory is refused. The place of the random numbers may come from anywhere.
bool check_attention_backward(const Call& call) {
  Operands read;
  for (const OperandRef& operand : call.operands) {
    const std::string_view name = operand.argument;
    if (name != "philox_seed" && name != "philox_offset" && name != "rng_state" && name != "unused") {
      read.push_back(operand);
    }
  }
  check_tensor_iterator(read, /*host_scalars=*/0);
  return true;
}

}  // namespace

std::span<const KernelCheck> network_checks() {
  static constexpr KernelCheck kChecks[] = {
      {.op = "aten::convolution", .check = check_convolution},
      {.op = "aten::native_batch_norm", .check = check_batch_norm},
      {.op = "aten::lstm.input", .check = check_recurrent},
      {.op = "aten::lstm.data", .check = check_recurrent},
      {.op = "aten::gru.input", .check = check_recurrent},
      {.op = "aten::gru.data", .check = check_recurrent},
      {.op = "aten::rnn_tanh.input", .check = check_recurrent},
      {.op = "aten::rnn_tanh.data", .check = check_recurrent},
      {.op = "aten::rnn_relu.input", .check = check_recurrent},
      {.op = "aten::rnn_relu.data", .check = check_recurrent},
      {.op = "aten::lstm_cell", .check = check_recurrent_cell},
      {.op = "aten::gru_cell", .check = check_recurrent_cell},
      {.op = "aten::rnn_tanh_cell", .check = check_recurrent_cell},
      {.op = "aten::rnn_relu_cell", .check = check_recurrent_cell},
      {.op = "aten::scaled_dot_product_attention", .check = check_attention},
      {.op = "aten::_efficient_attention_backward", .check = check_attention_backward},
      {.op = "aten::_flash_attention_backward", .check = check_attention_backward},
      {.op = "aten::_scaled_dot_product_efficient_attention_backward", .check = check_attention_backward},
      {.op = "aten::_scaled_dot_product_flash_attention_backward", .check = check_attention_backward},
  };
  return kChecks;
}

}  // namespace devsan::guard
