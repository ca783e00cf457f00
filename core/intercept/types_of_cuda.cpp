#include "intercept/hand_written.h"

#include <memory>

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/abs_native.h>

#include "guard/nondeterminism.h"
#include "intercept/checked_plan.h"
#include "intercept/typed_kernel.h"

namespace devsan::intercept {
namespace {

c10::OperatorHandle find(const char* name, const char* overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

/// aten/src/ATen/native/cuda/AbsKernel.cu. Other types take torch's composites, of `abs.out`.
at::Tensor abs(const at::Tensor& self) {
  return C10_UNLIKELY(self.scalar_type() == at::kBool) ? self.clone() : at::native::abs(self);
}

at::Tensor& abs_(at::Tensor& self) {
  return C10_UNLIKELY(self.scalar_type() == at::kBool) ? self : at::native::abs_(self);
}

/// aten/src/ATen/native/cuda/TriangularOps.cu, trace_cuda.
auto trace() {
  using Kernel = TypedKernel<at::Tensor(const at::Tensor&)>;
  return [kernel = std::make_shared<Kernel>(find("aten::trace", ""))](const at::Tensor& self) -> at::Tensor {
    if (C10_LIKELY(self.scalar_type() != at::kBool)) return (*kernel)(self);
    TORCH_CHECK(self.dim() == 2, "expected a matrix");
    return self.diagonal().sum();
  };
}

/// aten/src/ATen/native/cuda/SummaryOps.cu, _histc_cuda: integers are counted as integers, and without an alert.
auto histc() {
  using Kernel = TypedKernel<at::Tensor(const at::Tensor&, std::int64_t, const at::Scalar&, const at::Scalar&)>;
  const c10::OperatorHandle op = find("aten::histc", "");
  const guard::Nondeterminism& alert = *guard::nondeterminism_of("aten::histc");
  return [kernel = std::make_shared<Kernel>(op), &alert](const at::Tensor& self, std::int64_t bins,
                                                         const at::Scalar& min, const at::Scalar& max) -> at::Tensor {
    if (at::isIntegralType(self.scalar_type(), /*includeBool=*/false)) {
      return at::histc(self.to(at::kDouble), bins, min, max).to(self.scalar_type());
    }
    if (at::globalContext().deterministicAlgorithms()) at::Context::alertNotDeterministic(alert.caller);
    return (*kernel)(self, bins, min, max);
  };
}

/// (self, dim, keepdim, dtype): aten/src/ATen/native/cuda/ReduceSumProdKernel.cu takes complex numbers too.
class NanSum final : public c10::OperatorKernel {
 public:
  explicit NanSum(const c10::OperatorHandle& op) : checked_(op) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
    const c10::Device device = checked_.device_of(*stack);
    const auto first = stack->end() - 4;
    const at::Tensor self = first->toTensor();
    if (C10_LIKELY(!self.is_complex())) {
      emulate::call_on_cpu(op, checked_.plan, stack, device);
      return;
    }
    const auto dims = (first + 1)->isNone() ? std::vector<std::int64_t>() : (first + 1)->toIntVector();
    const bool keeps = (first + 2)->toBool();
    const auto type = (first + 3)->isNone() ? std::nullopt : std::optional((first + 3)->toScalarType());
    stack->resize(stack->size() - 4);
    stack->emplace_back(at::sum(self.masked_fill(self.isnan(), 0), dims, keeps, type));
  }

 private:
  CheckedPlan checked_;
};

}  // namespace

void register_types_of_cuda(torch::Library& library) {
  library.impl("abs", TORCH_FN(abs));
  library.impl("abs_", TORCH_FN(abs_));
  library.impl("trace", trace());
  library.impl("histc", histc());
  library.impl("nansum", torch::CppFunction::makeFromBoxedFunctor(std::make_unique<NanSum>(find("aten::nansum", ""))));
}

}  // namespace devsan::intercept
