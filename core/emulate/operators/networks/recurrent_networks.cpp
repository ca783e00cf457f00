#include "emulate/operators/networks/recurrent_networks.h"

#include <array>
#include <atomic>

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "emulate/calls/cpu_fallback.h"
#include "emulate/calls/each_tensor.h"
#include "emulate/operators/networks/recurrent_memory.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/host_allocator.h"
#include "emulate/runtime/kernel_memory.h"
#include "emulate/runtime/tensor.h"

namespace devsan::emulate {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// A gradient that has none of its own: tools/autograd/derivatives.yaml, _cudnn_rnn_backward, and
/// torch/csrc/autograd/FunctionsManual.cpp, kCudnnDoubleBackwardMsg.
struct OnlyOnce : torch::autograd::Function<OnlyOnce> {
  /// @param output what the gradient was computed from
  static at::Tensor forward(AutogradContext* /*context*/, const at::Tensor& grad, const at::Tensor& /*output*/) {
    return grad.detach();
  }

  static variable_list backward(AutogradContext* /*context*/, const variable_list& /*gradients*/) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        false, "the derivative for '_cudnn_rnn_backward' is not implemented. Double backwards is not supported for ",
        "CuDNN RNNs due to limitations in the CuDNN API. To run double backwards, please disable the CuDNN backend ",
        "temporarily while running the forward pass of your RNN. For example: \n",
        "with torch.backends.cudnn.flags(enabled=False):\n    output = model(inputs)");
  }
};

/// What a network takes in its backward, in bytes.
struct BackwardMemory {
  std::size_t workspace = 0;
  std::size_t gradients = 0;  ///< of its input, states and parameters
};

/// The results of a network that autograd follows. Its node owns the reserve, and notices an output that is
/// written, as that of aten::_cudnn_rnn does.
struct Results : torch::autograd::Function<Results> {
  static variable_list forward(AutogradContext* context, at::TensorList results, const at::Tensor& reserve, bool train,
                               BackwardMemory memory) {
    context->set_materialize_grads(false);
    context->saved_data["device"] = results[0].device();
    context->saved_data["train"] = train;
    context->saved_data["workspace"] = static_cast<std::int64_t>(memory.workspace);
    context->saved_data["gradients"] = static_cast<std::int64_t>(memory.gradients);
    variable_list own;
    // Not views of `results`: a program may write them.
    for (const at::Tensor& result : results) {
      own.emplace_back(result.unsafeGetTensorImpl()->shallow_copy_and_detach(c10::VariableVersion(0), true));
    }
    context->save_for_backward({reserve, own[0]});
    return own;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    TORCH_CHECK(context->saved_data["train"].toBool(), "cudnn RNN backward can only be called in training mode");
    {
      KernelMemory memory(context->saved_data["device"].toDevice().index());
      memory.for_a_moment({static_cast<std::size_t>(context->saved_data["workspace"].toInt()),
                           static_cast<std::size_t>(context->saved_data["gradients"].toInt())});
    }
    if (at::GradMode::is_enabled()) {
      for (at::Tensor& grad : gradients) {
        if (grad.defined()) grad = OnlyOnce::apply(grad, saved[1]);
      }
    }
    // The reserve, and the two arguments that are no tensors.
    gradients.resize(gradients.size() + 3);
    return gradients;
  }
};

bool is_network(const c10::FunctionSchema& schema) { return schema.argumentIndexWithName("num_layers").has_value(); }

/// aten/src/ATen/native/RNN.cpp, use_cudnn, and TensorProperties.cpp, cudnn_is_acceptable.
bool is_taken_by_cudnn(const at::Tensor& input, at::ScalarType type) {
  if (!is_virtual(input) || input.numel() == 0 || !at::globalContext().userEnabledCuDNN()) return false;
  constexpr int kAmpere = 8;
  if (type == at::kBFloat16) return emulate::device(input.device().index()).spec.major >= kAmpere;
  return type == at::kFloat || type == at::kHalf || type == at::kDouble;
}

bool is_cast(const at::Tensor& tensor) {
  return at::autocast::is_autocast_enabled(at::kCUDA) && tensor.defined() && tensor.is_floating_point() &&
         tensor.scalar_type() != at::kDouble;
}

at::Tensor cast(const at::Tensor& tensor) { return is_cast(tensor) ? tensor.to(at::kHalf) : tensor; }

/// Of the arguments that want a gradient.
std::size_t gradient_bytes(const c10::IValue* argument, std::size_t count) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for_each_tensor(argument[i], [&bytes](const at::Tensor& tensor) {
      if (tensor.requires_grad()) bytes += tensor.nbytes();
    });
  }
  return bytes;
}

/// Memory of `device` that nobody writes.
at::Tensor take(std::size_t bytes, c10::Device device) {
  const DeviceScope scope(device.index());
  at::Tensor host = at::detail::empty_generic({static_cast<std::int64_t>(bytes)}, &unwritten_memory(),
                                              c10::DispatchKeySet(c10::DispatchKey::CPU), at::kByte, std::nullopt);
  return adopt(std::move(host), device);
}

/// aten/src/ATen/native/cudnn/RNN.cpp, DropoutState: the random numbers of the first network that drops something out are
/// kept for all that follow. cudnnDropoutGetStatesSize gives 6488064 bytes on an H100, as many a thread as here.
void hold_dropout_states(c10::Device device) {
  constexpr int kState = 24;
  static std::array<std::atomic<const EmulatedDevice*>, kMaxDevices> held{};
  EmulatedDevice& target = emulate::device(device.index());
  if (held.at(static_cast<std::size_t>(device.index())).exchange(&target) == &target) return;
  const int threads = target.spec.multi_processor_count * target.spec.max_threads_per_multi_processor;
  static auto* states = new std::array<at::Tensor, kMaxDevices>();  // leaked, as CUDA has it
  states->at(static_cast<std::size_t>(device.index())) = take(static_cast<std::size_t>(threads) * kState, device);
}

}  // namespace

void call_recurrent(const c10::OperatorHandle& op, const CallPlan& plan, torch::jit::Stack* stack, c10::Device device) {
  const c10::FunctionSchema& schema = op.schema();
  c10::IValue* argument = stack->data() + (stack->size() - plan.arguments);
  const at::Tensor input = argument[0].toTensor();
  const std::int64_t dims = schema.overload_name() == "data" ? 2 : 3;
  if (!is_network(schema) || input.dim() != dims ||
      !is_taken_by_cudnn(input, is_cast(input) ? at::kHalf : input.scalar_type())) {
    call_cpu_fallback(op, plan, stack, device);
    return;
  }
  if (is_cast(input)) {
    for (std::size_t i = 0; i < plan.arguments; ++i) change_each_tensor(argument[i], &cast);
  }
  const RecurrentCall call(schema, argument);
  // nn.RNN puts no weights in bfloat16 into one buffer (torch.backends.cudnn.CUDNN_TENSOR_DTYPES), so each call does.
  const std::size_t buffer = input.scalar_type() == at::kBFloat16 ? call.weights : 0;
  if (call.train && call.dropout > 0) hold_dropout_states(device);
  const at::Tensor reserve = take(recurrent_reserve(call) + buffer, device);
  const BackwardMemory backward{recurrent_workspace(call), gradient_bytes(argument, plan.arguments)};
  call_cpu_fallback(op, plan, stack, device, backward.workspace + recurrent_results(call));
  c10::IValue* result = stack->data() + (stack->size() - plan.returns);
  variable_list results;
  for (std::size_t i = 0; i < plan.returns; ++i) results.push_back(result[i].toTensor());
  if (!at::GradMode::is_enabled() || !results[0].requires_grad()) return;
  results = Results::apply(at::TensorList(results), reserve, call.train, backward);
  for (std::size_t i = 0; i < plan.returns; ++i) result[i] = results[i];
}

}  // namespace devsan::emulate
