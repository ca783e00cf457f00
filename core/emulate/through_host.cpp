#include "emulate/through_host.h"

#include <mutex>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/List.h>
#include <torch/csrc/autograd/custom_function.h>

#include "emulate/generator.h"
#include "emulate/host_allocator.h"

namespace devsan::emulate {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// A tensor of its own over the memory of `tensor`, without its history.
at::Tensor detached(const at::Tensor& tensor) {
  return at::Tensor(tensor.unsafeGetTensorImpl()->shallow_copy_and_detach(c10::VariableVersion(0), true));
}

struct ToDevice : torch::autograd::Function<ToDevice> {
  static at::Tensor forward(AutogradContext* /*context*/, const at::Tensor& host, c10::Device device);
  static variable_list backward(AutogradContext* context, const variable_list& gradients);
};

struct ToHost : torch::autograd::Function<ToHost> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& tensor) {
    context->saved_data["device"] = tensor.device();
    at::Tensor host = host_alias(tensor);
    // Autograd notices an operand that is written between forward and backward by its version.
    const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    if (!tensor.is_inference()) host.unsafeGetTensorImpl()->set_version_counter(impl->version_counter());
    return host;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    if (!gradients[0].defined()) return {at::Tensor()};
    return {ToDevice::apply(gradients[0], context->saved_data["device"].toDevice())};
  }
};

at::Tensor ToDevice::forward(AutogradContext* /*context*/, const at::Tensor& host, c10::Device device) {
  const DeviceScope scope(device.index());
  const bool is_charged = host.has_storage() && block_of(host.storage().data_ptr()) != nullptr;
  return adopt(is_charged ? detached(host) : host.clone(), device);
}

variable_list ToDevice::backward(AutogradContext* /*context*/, const variable_list& gradients) {
  return {gradients[0].defined() ? ToHost::apply(gradients[0]) : at::Tensor(), at::Tensor()};
}

/// While it lives, the CPU's default generator draws the numbers of `cuda:index`: composites name no generator.
class BorrowedGenerator {
 public:
  explicit BorrowedGenerator(c10::DeviceIndex index) : lock_(turn()) {
    saved_ = default_.get_state();
    default_.set_state(host_generator(at::Generator(), index).get_state());
  }
  ~BorrowedGenerator() { default_.set_state(saved_); }
  BorrowedGenerator(const BorrowedGenerator&) = delete;
  BorrowedGenerator& operator=(const BorrowedGenerator&) = delete;

 private:
  static std::mutex& turn() {
    static std::mutex mutex;
    return mutex;
  }

  std::lock_guard<std::mutex> lock_;
  at::Generator default_ = at::detail::getDefaultCPUGenerator();
  at::Tensor saved_;
};

at::Tensor to_host(const at::Tensor& tensor) { return is_virtual(tensor) ? ToHost::apply(tensor) : tensor; }

void send(c10::IValue& argument) {
  if (argument.isTensor()) {
    argument = to_host(argument.toTensor());
  } else if (argument.isTensorList()) {
    c10::List<at::Tensor> tensors;
    for (const c10::IValue& element : argument.toListRef()) tensors.push_back(to_host(element.toTensor()));
    argument = std::move(tensors);
  }
}

/// Whether the call is one of a network in training that has dropout between its layers.
bool drops_out(const c10::FunctionSchema& schema, const c10::IValue* argument) {
  bool trains = false;
  bool drops = false;
  for (const c10::Argument& declared : schema.arguments()) {
    if (declared.name() == "train") trains = argument->toBool();
    if (declared.name() == "dropout") drops = argument->toDouble() > 0;
    ++argument;
  }
  return trains && drops;
}

}  // namespace

void call_through_host(const c10::OperatorHandle& op, const CallPlan& plan, torch::jit::Stack* stack,
                       c10::Device device) {
  c10::IValue* argument = stack->data() + (stack->size() - plan.arguments);
  std::optional<BorrowedGenerator> numbers;
  if (drops_out(op.schema(), argument)) numbers.emplace(device.index());
  for (std::size_t i = 0; i < plan.arguments; ++i) send(argument[i]);
  {
    const DeviceScope scope(device.index());
    op.callBoxed(stack);
  }
  c10::IValue* result = stack->data() + (stack->size() - plan.returns);
  for (std::size_t i = 0; i < plan.returns; ++i) result[i] = ToDevice::apply(result[i].toTensor(), device);
}

}  // namespace devsan::emulate
