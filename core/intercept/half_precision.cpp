#include "intercept/hand_written.h"

#include "emulate/runtime/kernel_memory.h"
#include "intercept/checked_plan.h"
#include "intercept/typed_kernel.h"

namespace devsan::intercept {
namespace {

/// (self, dim, normalization, ...); for a real result the last argument is the size of its last dimension.
class Transform final : public c10::OperatorKernel {
 public:
  Transform(const c10::OperatorHandle& op, bool makes_real) : checked_(op), makes_real_(makes_real) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
    const c10::Device device = checked_.device_of(*stack);
    const auto first = stack->end() - static_cast<std::ptrdiff_t>(checked_.plan.arguments);
    const at::Tensor& self = first->toTensor();
    if (C10_UNLIKELY(c10::toRealValueType(self.scalar_type()) == at::kHalf)) {
      check_sizes(self, (first + 1)->toDimVector(), makes_real_ ? std::optional((first + 3)->toInt()) : std::nullopt);
    }
    emulate::call_on_cpu(op, checked_.plan, stack, device);
  }

 private:
  static void check_sizes(const at::Tensor& self, const at::DimVector& dims, std::optional<std::int64_t> last) {
    at::DimVector sizes;
    for (const std::int64_t dim : dims) sizes.push_back(self.size(dim));
    if (last.has_value() && !sizes.empty()) sizes.back() = *last;
    for (const std::int64_t size : sizes) {
      TORCH_CHECK((size & (size - 1)) == 0, "cuFFT only supports dimensions whose sizes are powers of two when",
                  " computing in half precision, but got a signal size of", at::IntArrayRef(sizes));
    }
  }

  CheckedPlan checked_;
  bool makes_real_;
};

using Softmax = at::Tensor(const at::Tensor&, std::int64_t, bool);

auto softmax(const c10::OperatorHandle& op) {
  return [kernel = std::make_shared<TypedKernel<Softmax>>(op)](const at::Tensor& self, std::int64_t dim,
                                                               bool half_to_float) -> at::Tensor {
    if (C10_LIKELY(!half_to_float)) return (*kernel)(self, dim, false);
    TORCH_CHECK(self.scalar_type() == at::kHalf, "conversion is supported for Half type only");
    emulate::KernelMemory memory(self.device().index());
    at::Tensor result = (*kernel)(self.to(at::kFloat), dim, false);
    memory.close();
    memory.keep(result);
    return result;
  };
}

/// (grad, output, dim, input_dtype): the gradient of a converted softmax is float, that of its input half.
class SoftmaxBackward final : public c10::OperatorKernel {
 public:
  explicit SoftmaxBackward(const c10::OperatorHandle& op) : checked_(op) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
    const c10::Device device = checked_.device_of(*stack);
    c10::IValue& input_type = stack->back();
    const at::ScalarType wanted = input_type.toScalarType();
    const at::ScalarType given = (stack->end() - 4)->toTensor().scalar_type();
    if (C10_UNLIKELY(given != wanted)) {
      TORCH_CHECK(given == at::kFloat && wanted == at::kHalf,
                  "expected input and grad types to match, or input to be at::Half and grad to be at::Float");
      input_type = given;
    }
    emulate::call_on_cpu(op, checked_.plan, stack, device);
    if (C10_UNLIKELY(given != wanted)) stack->back() = stack->back().toTensor().to(wanted);
  }

 private:
  CheckedPlan checked_;
};

bool is_half(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16;
}

void convert(c10::IValue& value, at::ScalarType type) {
  if (value.toTensor().defined()) value = value.toTensor().to(type);
}

/// (input, ...) -> output, mean, inverse deviation.
class LayerNorm final : public c10::OperatorKernel {
 public:
  explicit LayerNorm(const c10::OperatorHandle& op) : checked_(op) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
    const c10::Device device = checked_.device_of(*stack);
    const bool narrow = is_half((stack->end() - static_cast<std::ptrdiff_t>(checked_.plan.arguments))->toTensor());
    if (C10_LIKELY(!narrow)) return emulate::call_on_cpu(op, checked_.plan, stack, device);
    emulate::KernelMemory memory(device.index());
    emulate::call_on_cpu(op, checked_.plan, stack, device);
    const auto results = stack->end() - 3;
    convert(*(results + 1), at::kFloat);
    convert(*(results + 2), at::kFloat);
    memory.close();
    for (auto result = results; result != stack->end(); ++result) memory.keep(result->toTensor());
  }

 private:
  CheckedPlan checked_;
};

/// (grad, input, normalized_shape, mean, rstd, ...)
class LayerNormBackward final : public c10::OperatorKernel {
 public:
  explicit LayerNormBackward(const c10::OperatorHandle& op) : checked_(op) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
    const c10::Device device = checked_.device_of(*stack);
    const auto first = stack->end() - static_cast<std::ptrdiff_t>(checked_.plan.arguments);
    const at::Tensor& input = (first + 1)->toTensor();
    if (C10_LIKELY(!is_half(input))) return emulate::call_on_cpu(op, checked_.plan, stack, device);
    emulate::KernelMemory memory(device.index());
    const at::ScalarType type = input.scalar_type();
    convert(*(first + 3), type);
    convert(*(first + 4), type);
    emulate::call_on_cpu(op, checked_.plan, stack, device);
    memory.close();
    for (auto result = stack->end() - 3; result != stack->end(); ++result) memory.keep(result->toTensor());
  }

 private:
  CheckedPlan checked_;
};

template <typename Kernel>
void put_boxed(torch::Library& library, const char* name) {
  const c10::OperatorHandle op =
      c10::Dispatcher::singleton().findSchemaOrThrow((std::string("aten::") + name).c_str(), "");
  library.impl(name, torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(op)));
}

void register_half_fft(torch::Library& library) {
  for (const char* name : {"_fft_c2c", "_fft_r2c", "_fft_c2r"}) {
    const std::string full = std::string("aten::") + name;
    const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(full.c_str(), "");
    library.impl(name, torch::CppFunction::makeFromBoxedFunctor(
                           std::make_unique<Transform>(op, /*makes_real=*/full == "aten::_fft_c2r")));
  }
}

void register_half_softmax(torch::Library& library) {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const char* name : {"_softmax", "_log_softmax"}) {
    library.impl(name, softmax(dispatcher.findSchemaOrThrow((std::string("aten::") + name).c_str(), "")));
  }
  for (const char* name : {"_softmax_backward_data", "_log_softmax_backward_data"}) {
    put_boxed<SoftmaxBackward>(library, name);
  }
}

}  // namespace

void register_half_precision(torch::Library& library) {
  register_half_fft(library);
  register_half_softmax(library);
  put_boxed<LayerNorm>(library, "native_layer_norm");
  put_boxed<LayerNormBackward>(library, "native_layer_norm_backward");
}

}  // namespace devsan::intercept
