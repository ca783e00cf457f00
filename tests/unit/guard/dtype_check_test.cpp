#include "guard/dtype_check.h"

#include <gtest/gtest.h>

#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>

namespace devsan::guard {
namespace {

constexpr memory::TorchRelease kRelease{2, 13};

at::Tensor of(at::ScalarType type, at::IntArrayRef size = {2, 2}) { return at::empty(size, type); }

std::string refusal_of(const char* name, const char* overload, const torch::jit::Stack& arguments) {
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
  const DtypeCheck* check = dtype_check_of(c10::toString(op.operator_name()), kRelease);
  if (check == nullptr) return "no check";
  try {
    check_dtypes(*check, op.schema(), arguments);
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

TEST(DtypeCheck, FormsOfAnOperatorHaveOneKernel) {
  const DtypeCheck* check = dtype_check_of("aten::addmm", kRelease);
  ASSERT_NE(check, nullptr);
  EXPECT_EQ(dtype_check_of("aten::addmm.out", kRelease), check);
  EXPECT_EQ(dtype_check_of("aten::addmm_", kRelease), check);
  EXPECT_NE(dtype_check_of("aten::_addmm_activation", kRelease), check);
  EXPECT_EQ(dtype_check_of("aten::add.Tensor", kRelease), nullptr);
  EXPECT_EQ(dtype_check_of("library::addmm", kRelease), nullptr);
}

TEST(DtypeCheck, NothingIsRefusedInAReleaseThatTookMoreOrIsNotKnown) {
  EXPECT_NE(dtype_check_of("aten::angle", {2, 13}), nullptr);
  EXPECT_EQ(dtype_check_of("aten::angle", {2, 14}), nullptr);
  EXPECT_NE(dtype_check_of("aten::addmm", {2, 15}), nullptr);
  EXPECT_EQ(dtype_check_of("aten::addmm", {2, 16}), nullptr);
  EXPECT_EQ(dtype_check_of("aten::addmm", {3, 0}), nullptr);
}

TEST(DtypeCheck, TheSentenceIsThatOfTheDispatchMacro) {
  EXPECT_EQ(refusal_of("aten::mm", "", {of(at::kLong), of(at::kLong)}), "\"addmm_cuda\" not implemented for 'Long'");
  EXPECT_EQ(refusal_of("aten::mm", "", {of(at::kHalf), of(at::kHalf)}), "");
  EXPECT_EQ(refusal_of("aten::mm", "", {of(at::kFloat8_e4m3fn), of(at::kFloat8_e4m3fn)}),
            "\"addmm_cuda\" not implemented for 'Float8_e4m3fn'");
}

TEST(DtypeCheck, ArithmeticOfEightBitsIsTheCpusAlone) {
  EXPECT_EQ(refusal_of("aten::abs", "", {of(at::kFloat8_e5m2)}), "\"abs_cuda\" not implemented for 'Float8_e5m2'");
  EXPECT_EQ(refusal_of("aten::mul", "Tensor", {of(at::kFloat8_e4m3fn), of(at::kFloat8_e4m3fn)}),
            "\"mul_cuda\" not implemented for 'Float8_e4m3fn'");
  EXPECT_EQ(refusal_of("aten::mul", "Tensor", {of(at::kUInt16), of(at::kHalf)}), "");
  EXPECT_EQ(refusal_of("aten::mul", "Tensor", {of(at::kComplexHalf), of(at::kComplexHalf)}), "");
}

TEST(DtypeCheck, OnlyASumIsScatteredInBool) {
  const at::Tensor index = at::zeros({2, 2}, at::kLong);
  const auto scatter = [&](at::ScalarType type, const char* reduce) {
    return refusal_of("aten::scatter_reduce", "two", {of(type), 0, index, of(type), reduce, true});
  };
  EXPECT_EQ(scatter(at::kBool, "prod"), "\"cuda_scatter_gather_base_kernel_func\" not implemented for 'Bool'");
  EXPECT_EQ(scatter(at::kBool, "sum"), "");
  EXPECT_EQ(scatter(at::kLong, "amax"), "");
}

TEST(DtypeCheck, TensorsWithoutElementsNeedNoKernel) {
  EXPECT_EQ(refusal_of("aten::mm", "", {of(at::kLong, {0, 2}), of(at::kLong)}), "");
}

TEST(DtypeCheck, TensorsOfOneTypeAreNotLookedAt) {
  constexpr DtypeSet refused = set_of(at::kLong);
  EXPECT_TRUE(is_suspect(refused, false, set_of(at::kLong, at::kFloat)));
  EXPECT_FALSE(is_suspect(refused, false, set_of(at::kHalf, at::kFloat)));
  EXPECT_TRUE(is_suspect(refused, true, set_of(at::kHalf, at::kFloat)));
  EXPECT_FALSE(is_suspect(refused, true, set_of(at::kHalf)));
  EXPECT_FALSE(is_suspect(0, true, 0));
}

TEST(DtypeCheck, AnotherOperandMayDecide) {
  const auto zeta = [](at::ScalarType left, at::ScalarType right) {
    return refusal_of("aten::special_zeta", "", {of(left), of(right)});
  };
  EXPECT_EQ(zeta(at::kHalf, at::kFloat), "");
  EXPECT_EQ(zeta(at::kHalf, at::kLong), "\"zeta_cuda\" not implemented for 'Half'");
  EXPECT_EQ(zeta(at::kLong, at::kLong), "");
}

}  // namespace
}  // namespace devsan::guard
