#include "emulate/calls/cpu_fallback.h"

#include <utility>

#include <c10/util/SmallVector.h>
#include <torch/csrc/autograd/custom_function.h>

#include "emulate/calls/each_tensor.h"
#include "emulate/runtime/charged_memory.h"
#include "emulate/runtime/generator.h"
#include "emulate/runtime/host_allocator.h"
#include "emulate/runtime/kernel_memory.h"
#include "emulate/runtime/origin.h"

namespace devsan::emulate {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// A tensor of its own over the memory of `tensor`, without its history.
at::Tensor detached_from_graph(const at::Tensor& tensor) {
  return at::Tensor(tensor.unsafeGetTensorImpl()->shallow_copy_and_detach(c10::VariableVersion(0), true));
}

struct ToDevice : torch::autograd::Function<ToDevice> {
  static at::Tensor forward(AutogradContext* /*context*/, const at::Tensor& host, c10::Device device);
  static variable_list backward(AutogradContext* context, const variable_list& gradients);
};

/// The alias of an operand for a call that autograd records: it notices an operand that is written between forward and
/// backward by its version.
at::Tensor versioned_alias(const at::Tensor& tensor) {
  at::Tensor host = host_alias(tensor);
  if (!tensor.is_inference()) {
    host.unsafeGetTensorImpl()->set_version_counter(tensor.unsafeGetTensorImpl()->version_counter());
  }
  return host;
}

struct ToHost : torch::autograd::Function<ToHost> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& tensor) {
    context->saved_data["device"] = tensor.device();
    return versioned_alias(tensor);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    if (!gradients[0].defined()) return {at::Tensor()};
    return {ToDevice::apply(gradients[0], context->saved_data["device"].toDevice())};
  }
};

/// A result of the host on `device`: over the same bytes where they are charged to it, otherwise a copy.
at::Tensor moved(const at::Tensor& host, c10::Device device) {
  const DeviceScope scope(device.index());
  const bool is_charged = host.has_storage() && block_of(host.storage().data_ptr()) != nullptr;
  return adopt(is_charged ? detached_from_graph(host) : host.clone(), device);
}

at::Tensor ToDevice::forward(AutogradContext* /*context*/, const at::Tensor& host, c10::Device device) {
  return moved(host, device);
}

variable_list ToDevice::backward(AutogradContext* /*context*/, const variable_list& gradients) {
  return {gradients[0].defined() ? ToHost::apply(gradients[0]) : at::Tensor(), at::Tensor()};
}

thread_local const at::Generator* t_numbers = nullptr;  ///< see NOTE [Numbers of a composite]

/// Whether autograd, backward or forward, follows `tensor` here. The functions above cost more than a small network.
bool is_followed(const at::Tensor& tensor) {
  return (at::GradMode::is_enabled() && tensor.requires_grad()) || tensor._fw_grad(/*level=*/0).defined();
}

bool is_recorded(const c10::IValue* argument, std::size_t count) {
  bool found = false;
  for (std::size_t i = 0; i < count; ++i) {
    for_each_tensor(argument[i], [&found](const at::Tensor& tensor) { found = found || is_followed(tensor); });
  }
  return found;
}

/// Takes the operands of one call to the host.
class Crossing {
 public:
  explicit Crossing(bool recorded) : recorded_(recorded) {}
  Crossing(const Crossing&) = delete;
  Crossing& operator=(const Crossing&) = delete;
  ~Crossing() {
    for (at::Tensor& alias : aliases_) recycle(std::move(alias));
  }

  void send(c10::IValue& argument) {
    change_each_tensor(argument, [this](const at::Tensor& tensor) { return to_host(tensor); });
  }

 private:
  at::Tensor to_host(const at::Tensor& tensor) {
    if (!is_virtual(tensor)) return tensor;
    if (recorded_) return is_followed(tensor) ? ToHost::apply(tensor) : versioned_alias(tensor);
    return aliases_.emplace_back(host_alias(tensor));
  }

  bool recorded_;  ///< autograd records the call, and may keep its operands
  c10::SmallVector<at::Tensor, 16> aliases_;
};

at::Tensor to_device(const at::Tensor& host, c10::Device device) {
  return is_followed(host) ? ToDevice::apply(host, device) : moved(host, device);
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

/// That of the first operand that has one: see NOTE [Origins].
record::Origin origin_of_operands(const c10::IValue* argument, const CallPlan& plan) {
  record::Origin found;
  for (std::size_t i = 0; i < plan.arguments; ++i) {
    for_each_tensor(argument[i], [&](const at::Tensor& tensor) { take_origin(found, plan.op, tensor); });
  }
  return found;
}

}  // namespace

CompositeNumbers::CompositeNumbers(const at::Generator& generator) : before_(t_numbers), generator_(generator) {
  t_numbers = &generator_;
}

CompositeNumbers::~CompositeNumbers() { t_numbers = before_; }

at::Tensor& bernoulli_of_composite(c10::DispatchKeySet keys, at::Tensor& self, double p,
                                   std::optional<at::Generator> generator) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("aten::bernoulli_", "float")
                             .typed<at::Tensor&(at::Tensor&, double, std::optional<at::Generator>)>();
  if (!generator.has_value() && t_numbers != nullptr) generator = *t_numbers;
  return op.redispatch(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kNumbersKey), self, p,
                       std::move(generator));
}

void call_cpu_fallback(const c10::OperatorHandle& op, const CallPlan& plan, torch::jit::Stack* stack,
                       c10::Device device, std::optional<std::size_t> kernel) {
  c10::IValue* argument = stack->data() + (stack->size() - plan.arguments);
  std::optional<CompositeNumbers> numbers;
  if (drops_out(op.schema(), argument)) numbers.emplace(host_generator(at::Generator(), device.index()));
  const OriginScope origin(origin_of_operands(argument, plan));
  Crossing crossing(is_recorded(argument, plan.arguments));
  for (std::size_t i = 0; i < plan.arguments; ++i) crossing.send(argument[i]);
  {
    const DeviceScope scope(device.index());
    std::optional<KernelMemory> memory;
    if (kernel.has_value()) memory.emplace(device.index()).scratch(*kernel);
    op.callBoxed(stack);
  }
  c10::IValue* result = stack->data() + (stack->size() - plan.returns);
  for (std::size_t i = 0; i < plan.returns; ++i) result[i] = to_device(result[i].toTensor(), device);
}

}  // namespace devsan::emulate
