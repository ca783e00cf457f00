#include "guard/device_check.h"

#include <gtest/gtest.h>

#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "guard/kernel_checks.h"
#include "guard/operands.h"

namespace devsan::guard {
namespace {

// The meta device stands for a GPU: the checks compare devices and look at no data.
at::Tensor on_meta(at::IntArrayRef size) { return at::empty(size, at::TensorOptions().device(at::kMeta)); }
at::Tensor on_cpu(at::IntArrayRef size) { return at::empty(size); }

c10::OperatorHandle op(const char* name, const char* overload = "") {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

std::string refusal_of(const char* name, const char* overload, const torch::jit::Stack& arguments) {
  const c10::OperatorHandle handle = op(name, overload);
  const std::string full = c10::toString(handle.operator_name());
  try {
    check_devices(check_of(full), handle.schema(), arguments);
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

TEST(DeviceCheck, MethodsAreNamedAsTorchgenNamesThem) {
  EXPECT_STREQ(check_of("aten::addmm").method, "wrapper_CUDA_addmm");
  EXPECT_STREQ(check_of("aten::addmm.out").method, "wrapper_CUDA_addmm_out_out");
  EXPECT_STREQ(check_of("aten::clamp.Tensor").method, "wrapper_CUDA_clamp_Tensor");
  EXPECT_STREQ(check_of("aten::index_select").method, "wrapper_CUDA__index_select");
  EXPECT_STREQ(check_of("aten::searchsorted.Tensor").method, "wrapper_CUDA_Tensor_searchsorted");
}

TEST(DeviceCheck, TheRuleIsWhoLooksAtTheDevices) {
  EXPECT_EQ(check_of("aten::addmm").rule, Rule::kGenerated);
  EXPECT_EQ(check_of("aten::add.Tensor").rule, Rule::kTensorIterator);
  EXPECT_EQ(check_of("aten::set_.source_Tensor").rule, Rule::kKernel);
  EXPECT_EQ(check_of("library::operator").rule, Rule::kUnknown);
}

TEST(DeviceCheck, OtherLayoutsHaveWrappersOfTheirOwn) {
  EXPECT_STREQ(check_of("aten::mm", Layout::kSparse).method, "wrapper_SparseCUDA__mm");
  EXPECT_STREQ(check_of("aten::mm", Layout::kSparseCompressed).method, "wrapper_SparseCsrCUDA__mm");
  EXPECT_EQ(check_of("aten::mm", Layout::kSparse).rule, Rule::kGenerated);
}

TEST(DeviceCheck, OneCpuScalarNeedsNoLookInABinaryOperator) {
  EXPECT_EQ(check_of("aten::add.Tensor").host_scalars, 1);
  EXPECT_EQ(check_of("aten::sin.out").host_scalars, 0);
  EXPECT_EQ(check_of("aten::addcdiv").host_scalars, 0);
  EXPECT_EQ(check_of("aten::masked_fill_.Scalar").host_scalars, 0);  // its kernel has a check of its own
}

TEST(DeviceCheck, ACallIsSuspectWhenItsTensorsAreApart) {
  const OperatorCheck iterated = check_of("aten::add.Tensor");
  EXPECT_FALSE(is_suspect(iterated, /*mixed=*/false, /*host_scalars=*/1));
  EXPECT_TRUE(is_suspect(iterated, /*mixed=*/false, /*host_scalars=*/2));
  EXPECT_TRUE(is_suspect(iterated, /*mixed=*/true, /*host_scalars=*/0));
  EXPECT_TRUE(is_suspect(check_of("aten::mm"), /*mixed=*/false, /*host_scalars=*/1));
  EXPECT_TRUE(is_suspect(check_of("aten::convolution"), /*mixed=*/false, /*host_scalars=*/0));
}

TEST(DeviceCheck, TheGeneratedCheckNamesTheOddArgument) {
  EXPECT_EQ(
      refusal_of("aten::mm", "", {on_cpu({2, 3}), on_meta({3, 2})}),
      "Expected all tensors to be on the same device, but got mat2 is on meta, different from other tensors on cpu "
      "(when checking argument in method wrapper_CUDA_mm)");
}

TEST(DeviceCheck, TensorIteratorNamesTheCommonDeviceFirst) {
  EXPECT_EQ(refusal_of("aten::add", "Tensor", {on_cpu({2}), on_meta({2}), 1}),
            "Expected all tensors to be on the same device, but found at least two devices, meta and cpu!");
}

TEST(DeviceCheck, OneCpuScalarMayJoinAndNotTwo) {
  EXPECT_EQ(refusal_of("aten::add", "Tensor", {on_meta({2}), on_cpu({}), 1}), "");
  EXPECT_EQ(refusal_of("aten::addcmul", "", {on_meta({2}), on_cpu({}), on_cpu({}), 1}),
            "Trying to pass too many CPU scalars to non-CPU kernel!");
}

TEST(DeviceCheck, TorchsMetaFunctionsSpeakFirst) {
  // Sizes come before devices, and an output on another device before TensorIterator.
  EXPECT_EQ(refusal_of("aten::add", "Tensor", {on_meta({2}), on_cpu({3}), 1}),
            "The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0");
  EXPECT_EQ(refusal_of("aten::cumsum", "out", {on_meta({2}), 0, torch::jit::IValue(), on_cpu({2})}),
            "Expected out tensor to have device meta, but got cpu instead");
  EXPECT_EQ(refusal_of("aten::addcdiv", "", {on_meta({2}), on_cpu({}), on_meta({2}), 1}),
            "Expected all tensors to be on the same device, but found at least two devices, meta and cpu!");
}

TEST(DeviceCheck, KeywordArgumentsAreNotInTheGeneratedCheck) {
  EXPECT_EQ(refusal_of("aten::searchsorted", "Tensor",
                       {on_meta({2}), on_meta({1}), false, false, torch::jit::IValue(), on_cpu({2}).to(at::kLong)}),
            "torch.searchsorted(): sorter and boundary tensors should have same device type, but got sorter tensor "
            "device type cpu and input value tensor device type meta");
}

TEST(DeviceCheck, ACopyMayJoinDevices) {
  EXPECT_EQ(refusal_of("aten::fill_", "Tensor", {on_meta({2}), on_cpu({})}), "");
}

TEST(DeviceCheck, ARefusalKeepsTheFacts) {
  const std::vector<at::Tensor> list{on_meta({2}), on_cpu({3})};
  const std::string message = refusal_of("aten::cat", "", {list, 0});
  const Refusal refusal = last_refusal();
  EXPECT_EQ(refusal.op, "aten::cat");
  EXPECT_EQ(refusal.message, message);
  ASSERT_EQ(refusal.operands.size(), 2U);
  EXPECT_EQ(refusal.operands[1].name, "tensors[1]");
  EXPECT_EQ(refusal.operands[1].device, "cpu");
  EXPECT_EQ(refusal.operands[1].dtype, "Float");
  EXPECT_EQ(refusal.operands[1].shape, (std::vector<std::int64_t>{3}));
  EXPECT_EQ(refusal.operands[1].storage, reinterpret_cast<std::uintptr_t>(list[1].storage().unsafeGetStorageImpl()));
  EXPECT_EQ(last_refusal_of_process().op, "aten::cat");
}

TEST(DeviceCheck, ARefusalIsFoundByItsMessageAmongLaterOnes) {
  const std::string first = refusal_of("aten::cat", "", {std::vector<at::Tensor>{on_meta({2}), on_cpu({3})}, 0});
  refusal_of("aten::searchsorted", "Tensor",
             {on_meta({2}), on_meta({1}), false, false, torch::jit::IValue(), on_cpu({2}).to(at::kLong)});
  ASSERT_EQ(last_refusal_of_process().op, "aten::searchsorted.Tensor");
  EXPECT_EQ(refusal_in("Caught RuntimeError in replica 1: " + first).op, "aten::cat");
  EXPECT_EQ(refusal_in("another sentence").op, "");
  forget_last_refusal();
  EXPECT_EQ(refusal_in(first).op, "");
}

TEST(Operands, AreFoundByTheSchemasNames) {
  const c10::OperatorHandle addmm = op("aten::addmm");
  const torch::jit::Stack arguments{on_cpu({2}), on_cpu({2, 3}), on_cpu({3, 2}), 2, 1};
  const Call call{addmm.schema(), arguments, operands_of(addmm.schema(), arguments)};
  ASSERT_EQ(call.operands.size(), 3U);
  EXPECT_EQ(find(call.operands, "mat2")->tensor->size(0), 3);
  EXPECT_EQ(find(call.operands, "mat3"), nullptr);
  EXPECT_EQ(value_of(call, "beta")->toScalar().toInt(), 2);
  EXPECT_EQ(value_of(call, "gamma"), nullptr);
}

TEST(Operands, WrittenOnesAreMarked) {
  const c10::OperatorHandle add_out = op("aten::add", "out");
  const torch::jit::Stack arguments{on_cpu({2}), on_cpu({2}), 1, on_cpu({2})};
  const Operands operands = operands_of(add_out.schema(), arguments);
  ASSERT_EQ(operands.size(), 3U);
  EXPECT_FALSE(operands[0].is_written);
  EXPECT_TRUE(operands[2].is_out);
  EXPECT_TRUE(operands[2].is_written);
}

}  // namespace
}  // namespace devsan::guard
