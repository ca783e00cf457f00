#include "intercept/hand_written.h"

#include <algorithm>
#include <memory>

#include <ATen/Context.h>
#include <c10/core/DeviceGuard.h>

#include "emulate/operators/linear_algebra/low_precision.h"
#include "emulate/operators/linear_algebra/unpivoted_lu.h"
#include "intercept/checked_plan.h"

namespace devsan::intercept {
namespace {

/// Checks `driver` as CUDA does, for a call with that first operand; returns what the host's kernel is to be given.
using Translate = c10::IValue (*)(const at::Tensor& operand, const c10::IValue& driver);

/// aten/src/ATen/native/BatchLinearAlgebra.cpp, _linalg_svd_out; cuda/linalg/BatchLinearAlgebraLib.cpp, svd_cusolver.
/// Whichever routine computes it, it is one decomposition; the host's has no choice of routines.
c10::IValue svd_driver(const at::Tensor& operand, const c10::IValue& driver) {
  // With MAGMA no driver can be chosen, and the host's kernel says so.
  const bool cusolver = at::globalContext().linalgPreferredBackend() != at::LinalgBackend::Magma;
  if (driver.isNone() || operand.numel() == 0 || !cusolver) return driver;
  const std::string& name = driver.toStringRef();
  TORCH_CHECK(name == "gesvd" || name == "gesvdj" || name == "gesvda", "torch.linalg.svd: unknown svd driver ", name,
              " in svd_cusolver computation. ",
              "Check doc at https://pytorch.org/docs/stable/generated/torch.linalg.svd.html");
  return {};
}

/// aten/src/ATen/native/BatchLinearAlgebra.cpp, get_default_lstsq_driver.
c10::IValue lstsq_driver(const at::Tensor& /*operand*/, const c10::IValue& driver) {
  std::string name = driver.isNone() ? "gels" : driver.toStringRef();
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  TORCH_CHECK(name == "gels", "torch.linalg.lstsq: `driver` other than `gels` is not supported on CUDA");
  return name;
}

class WithDriver final : public c10::OperatorKernel {
 public:
  WithDriver(const c10::OperatorHandle& op, Translate translate)
      : checked_(op),
        translate_(translate),
        count_(op.schema().arguments().size()),
        index_(static_cast<std::size_t>(op.schema().argumentIndexWithName("driver").value())) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
    const c10::Device device = checked_.device_of(*stack);
    c10::IValue& driver = torch::jit::peek(*stack, index_, count_);
    driver = translate_(torch::jit::peek(*stack, 0, count_).toTensor(), driver);
    emulate::call_on_cpu(op, checked_.plan, stack, device);
  }

 private:
  CheckedPlan checked_;
  Translate translate_;
  std::size_t count_;
  std::size_t index_;
};

/// Looks at the call whose arguments, `count` of them, are at the end of the stack: raises what cuBLAS asks for.
using Look = void (*)(const torch::jit::Stack& stack, std::size_t count);

void look_at_int_mm(const torch::jit::Stack& stack, std::size_t count) {
  emulate::check_int_mm(torch::jit::peek(stack, 0, count).toTensor(), torch::jit::peek(stack, 1, count).toTensor());
}

/// (self, mat2, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum, [out])
void look_at_scaled_mm(const torch::jit::Stack& stack, std::size_t count) {
  const auto argument = [&](std::size_t i) -> const c10::IValue& { return torch::jit::peek(stack, i, count); };
  const at::Tensor& mat1 = argument(0).toTensor();
  const at::ScalarType out_type = argument(6).isNone() ? mat1.scalar_type() : argument(6).toScalarType();
  emulate::check_scaled_mm(mat1, argument(1).toTensor(), argument(2).toTensor(), argument(3).toTensor(),
                           argument(4).toOptional<at::Tensor>(), out_type);
}

void look_at_scaled_mm_v2(const torch::jit::Stack& /*stack*/, std::size_t /*count*/) {
  emulate::check_scaled_mm_capability();
}

class Looked final : public c10::OperatorKernel {
 public:
  Looked(const c10::OperatorHandle& op, Look look)
      : checked_(op), look_(look), count_(op.schema().arguments().size()) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
    const c10::Device device = checked_.device_of(*stack);
    {
      const c10::DeviceGuard current(device);
      look_(*stack, count_);
    }
    emulate::call_on_cpu(op, checked_.plan, stack, device);
  }

 private:
  CheckedPlan checked_;
  Look look_;
  std::size_t count_;
};

/// (A, pivot, ...): with `pivot` the host's kernel, without it `unpivoted`, whose arguments are the same.
template <typename Unpivoted>
class Factorization final : public c10::OperatorKernel {
 public:
  Factorization(const c10::OperatorHandle& op, Unpivoted unpivoted)
      : checked_(op), unpivoted_(unpivoted), count_(op.schema().arguments().size()) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
    const c10::Device device = checked_.device_of(*stack);
    if (C10_LIKELY(torch::jit::peek(*stack, 1, count_).toBool())) {
      emulate::call_on_cpu(op, checked_.plan, stack, device);
    } else {
      unpivoted_(stack, count_);
    }
  }

 private:
  CheckedPlan checked_;
  Unpivoted unpivoted_;
  std::size_t count_;
};

/// Leaves `results` on the stack in place of `count` arguments. Where there are outputs among them, at the end, the
/// results are written into those.
void hand_back(torch::jit::Stack* stack, std::size_t count, std::size_t inputs, std::array<at::Tensor, 3> results) {
  for (std::size_t i = inputs; i < count; ++i) {
    at::Tensor out = torch::jit::peek(*stack, i, count).toTensor();
    at::Tensor& result = results.at(i - inputs);
    TORCH_CHECK(out.scalar_type() == result.scalar_type(), "Expected out tensor to have dtype ", result.dtype(),
                ", but got ", out.dtype(), " instead");
    emulate::write_factor(result, out);
    result = std::move(out);
  }
  torch::jit::drop(*stack, count);
  for (at::Tensor& result : results) stack->emplace_back(std::move(result));
}

void factor(torch::jit::Stack* stack, std::size_t count) {
  auto [factors, pivots, info] = emulate::unpivoted_lu_factor(torch::jit::peek(*stack, 0, count).toTensor(),
                                                              torch::jit::peek(*stack, 2, count).toBool());
  hand_back(stack, count, 3, {factors, pivots, info});
}

void decompose(torch::jit::Stack* stack, std::size_t count) {
  auto [permutation, lower, upper] = emulate::unpivoted_lu(torch::jit::peek(*stack, 0, count).toTensor());
  hand_back(stack, count, 2, {permutation, lower, upper});
}

template <typename Kernel, typename How>
void put(torch::Library& library, const std::string& name, const char* overload, How how) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(("aten::" + name).c_str(), overload);
  const std::string full_name = *overload == '\0' ? name : name + "." + overload;
  library.impl(full_name.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(op, how)));
}

}  // namespace

void register_linear_algebra(torch::Library& library) {
  put<WithDriver>(library, "_linalg_svd", "", &svd_driver);
  put<WithDriver>(library, "_linalg_svd", "U", &svd_driver);
  put<WithDriver>(library, "linalg_lstsq", "out", &lstsq_driver);
  for (const char* overload : {"", "out"}) {
    put<Looked>(library, "_int_mm", overload, &look_at_int_mm);
    put<Looked>(library, "_scaled_mm", overload, &look_at_scaled_mm);
    if (has_operator("aten::_scaled_mm_v2", overload)) {
      put<Looked>(library, "_scaled_mm_v2", overload, &look_at_scaled_mm_v2);
    }
    put<Factorization<decltype(&factor)>>(library, "linalg_lu_factor_ex", overload, &factor);
    put<Factorization<decltype(&decompose)>>(library, "linalg_lu", overload, &decompose);
  }
}

}  // namespace devsan::intercept
