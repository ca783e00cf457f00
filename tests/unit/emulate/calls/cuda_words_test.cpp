#include "emulate/calls/cuda_words.h"

#include <gtest/gtest.h>

#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "emulate/calls/kernel_names.h"

namespace devsan::emulate {
namespace {

TEST(CudaWords, AKernelIsNamedByItsSuffixOrByTheTable) {
  EXPECT_EQ(name_of_cuda_kernel("aten::silu", "silu_cpu"), "silu_cuda");
  EXPECT_EQ(name_of_cuda_kernel("aten::exp_", "exp_vml_cpu"), "exp_cuda");
  EXPECT_EQ(name_of_cuda_kernel("aten::bernoulli_", "bernoulli_scalar_cpu_"), "bernoulli_scalar_cuda_");
  EXPECT_EQ(name_of_cuda_kernel("aten::gelu.out", "GeluKernelImpl"), "GeluCUDAKernelImpl");
  EXPECT_EQ(name_of_cuda_kernel("aten::lt.Tensor", "lt_cpu"), "compare_cuda");
  EXPECT_EQ(name_of_cuda_kernel("aten::_softmax_backward_data", "softmax_backward_kernel_impl"),
            "host_softmax_backward");
}

TEST(CudaWords, OneNameOfTheHostMayBeTwoOnCuda) {
  const auto linear = [](const char* op) { return name_of_cuda_kernel(op, "compute_indices_weights_linear"); };
  EXPECT_EQ(linear("aten::upsample_linear1d"), "upsample_linear1d_out_frame");
  EXPECT_EQ(linear("aten::upsample_trilinear3d.out"), "upsample_trilinear3d_out_frame");
  EXPECT_EQ(linear("aten::other"), "compute_indices_weights_linear");
}

TEST(CudaWords, ANameThatBothHaveIsKept) { EXPECT_EQ(name_of_cuda_kernel("aten::eye", "eye"), "eye"); }

/// What is raised for `sentence` in a call of `name` on a table and an index; nothing where it stays as it is.
std::string said(const char* name, const char* overload, const std::string& sentence, bool accumulate) {
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
  const torch::jit::Stack arguments{at::ones({4}), c10::List<std::optional<at::Tensor>>({at::ones({1}, at::kLong)}),
                                    at::ones({1}), accumulate, false};
  try {
    raise_in_words_of_cuda(op.schema(), arguments, c10::Error({"", "", 0}, sentence));
  } catch (const c10::AcceleratorError& error) {
    return error.what_without_backtrace();
  }
  return "";
}

TEST(CudaWords, AnAssertionIsRaisedUnlessCudaComparesOnTheHost) {
  const std::string sentence = "index 9 is out of bounds for dimension 0 with size 4";
  EXPECT_EQ(said("aten::_index_put_impl_", "", sentence, false).rfind("CUDA error: device-side assert triggered\n", 0),
            0);
  EXPECT_NE(said("aten::_index_put_impl_", "", sentence, false).find(sentence), std::string::npos);
  EXPECT_EQ(said("aten::_index_put_impl_", "", sentence, true), "");
  EXPECT_EQ(said("aten::_index_put_impl_", "", "shape mismatch", false), "");
}

}  // namespace
}  // namespace devsan::emulate
