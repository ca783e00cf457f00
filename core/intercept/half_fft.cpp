#include "intercept/half_fft.h"

#include "intercept/checked_plan.h"

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

}  // namespace

void register_half_fft(torch::Library& library) {
  for (const char* name : {"_fft_c2c", "_fft_r2c", "_fft_c2r"}) {
    const std::string full = std::string("aten::") + name;
    const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(full.c_str(), "");
    library.impl(name, torch::CppFunction::makeFromBoxedFunctor(
                           std::make_unique<Transform>(op, /*makes_real=*/full == "aten::_fft_c2r")));
  }
}

}  // namespace devsan::intercept
