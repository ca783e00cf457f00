#include "intercept/half_softmax.h"

#include "intercept/checked_plan.h"
#include "intercept/typed_kernel.h"

namespace devsan::intercept {
namespace {

using Forward = at::Tensor(const at::Tensor&, std::int64_t, bool);

auto forward(const c10::OperatorHandle& op) {
  return [kernel = std::make_shared<TypedKernel<Forward>>(op)](const at::Tensor& self, std::int64_t dim,
                                                               bool half_to_float) -> at::Tensor {
    if (C10_LIKELY(!half_to_float)) return (*kernel)(self, dim, false);
    TORCH_CHECK(self.scalar_type() == at::kHalf, "conversion is supported for Half type only");
    return (*kernel)(self.to(at::kFloat), dim, false);
  };
}

/// (grad, output, dim, input_dtype): the gradient of a converted softmax is float, that of its input half.
class Backward final : public c10::OperatorKernel {
 public:
  explicit Backward(const c10::OperatorHandle& op) : checked_(op) {}

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

}  // namespace

void register_half_softmax(torch::Library& library) {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const char* name : {"_softmax", "_log_softmax"}) {
    library.impl(name, forward(dispatcher.findSchemaOrThrow((std::string("aten::") + name).c_str(), "")));
  }
  for (const char* name : {"_softmax_backward_data", "_log_softmax_backward_data"}) {
    const c10::OperatorHandle op = dispatcher.findSchemaOrThrow((std::string("aten::") + name).c_str(), "");
    library.impl(name, torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Backward>(op)));
  }
}

}  // namespace devsan::intercept
