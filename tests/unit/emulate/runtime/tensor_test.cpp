#include "emulate/runtime/tensor.h"

#include <gtest/gtest.h>

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>

#include "emulate/calls/host_tensors.h"
#include "emulate/runtime/device.h"
#include "emulate/runtime/host_allocator.h"
#include "emulate/runtime/layouts.h"
#include "emulate/runtime/storage.h"

namespace devsan::emulate {
namespace {

const c10::Device kGpu(c10::DeviceType::CUDA, 1);

class TensorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    model::DeviceSpec spec;
    spec.name = "test";
    spec.total_memory = 1ULL << 30;
    create_devices({spec, spec});
    host_allocator().install();
  }
  void TearDown() override { retire_devices(); }

  static at::Tensor on_gpu(at::IntArrayRef size) {
    const DeviceScope scope(kGpu.index());
    return adopt(at::ones(size), kGpu);
  }
  static std::int64_t allocated() { return device(1).allocator.stats().allocated_bytes.by_pool[0].current; }
};

TEST_F(TensorTest, AnAdoptedTensorIsOnTheGpuWithItsStorage) {
  const at::Tensor tensor = on_gpu({2, 3});
  EXPECT_TRUE(is_virtual(tensor));
  EXPECT_EQ(tensor.device(), kGpu);
  EXPECT_TRUE(tensor.is_cuda());
  EXPECT_EQ(tensor.storage().device(), kGpu);
  EXPECT_FALSE(tensor.is_inference());
}

TEST_F(TensorTest, ItsAliasIsAnOrdinaryCpuTensorOverTheSameBytes) {
  const at::Tensor tensor = on_gpu({2, 3});
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(at::IntArrayRef{3, 2}, at::IntArrayRef{1, 3});
  const at::Tensor alias = host_alias(tensor);
  EXPECT_TRUE(alias.is_cpu());
  EXPECT_EQ(alias.key_set(), at::ones({1}).key_set());
  EXPECT_EQ(alias.sizes(), (at::IntArrayRef{3, 2}));
  EXPECT_EQ(alias.strides(), (at::IntArrayRef{1, 3}));
  EXPECT_EQ(alias.data_ptr(), tensor.data_ptr());
}

TEST_F(TensorTest, AConjugatesAliasIsOneToo) {
  const DeviceScope scope(kGpu.index());
  const at::Tensor tensor = adopt(at::ones({2}, at::kComplexFloat), kGpu);
  tensor.unsafeGetTensorImpl()->_set_conj(true);
  EXPECT_TRUE(host_alias(tensor).is_conj());
}

TEST_F(TensorTest, AnInferenceTensorStaysOne) {
  const c10::InferenceMode mode;
  const at::Tensor tensor = on_gpu({2});
  EXPECT_TRUE(tensor.is_inference());
  EXPECT_TRUE(host_alias(tensor).is_inference());
}

TEST_F(TensorTest, UsedAliasesAreUsedAgainUnlessSomeoneHoldsThem) {
  const at::Tensor tensor = on_gpu({2});
  at::Tensor alias = host_alias(tensor);
  const c10::TensorImpl* first = alias.unsafeGetTensorImpl();
  recycle(std::move(alias));
  at::Tensor again = host_alias(tensor);
  EXPECT_EQ(again.unsafeGetTensorImpl(), first);
  const at::Tensor held = again;
  recycle(std::move(again));
  EXPECT_NE(host_alias(tensor).unsafeGetTensorImpl(), first);
}

TEST_F(TensorTest, BytesAreChargedWhileTheyLive) {
  const std::int64_t before = allocated();
  {
    const at::Tensor tensor = on_gpu({256});
    const at::Tensor alias = host_alias(tensor);
    EXPECT_EQ(allocated() - before, 1024);
  }
  EXPECT_EQ(allocated(), before);
}

TEST_F(TensorTest, AResultThatIsAnOperandsViewSharesItsStorage) {
  const at::Tensor tensor = on_gpu({4});
  HostTensors tensors;
  const at::Tensor& alias = tensors.alias(c10::MaybeOwned<at::Tensor>::borrowed(tensor), /*written=*/false);
  const at::Tensor view = tensors.take_back(alias.slice(0, 1, 3), kGpu);
  EXPECT_EQ(view.device(), kGpu);
  EXPECT_TRUE(view.is_alias_of(tensor));
  EXPECT_TRUE(tensors.take_back(at::Tensor(alias), kGpu).is_same(tensor));
}

TEST_F(TensorTest, AKernelThatResizesItsOperandResizesTheTensor) {
  const at::Tensor tensor = on_gpu({4});
  HostTensors tensors;
  {
    const DeviceScope scope(kGpu.index());
    at::Tensor alias = tensors.alias(c10::MaybeOwned<at::Tensor>::borrowed(tensor), /*written=*/true);
    alias.resize_({1024}).fill_(3);
  }
  tensors.follow_writes();
  EXPECT_EQ(tensor.sizes(), (at::IntArrayRef{1024}));
  EXPECT_EQ(tensor.storage().nbytes(), 4096U);
  EXPECT_EQ(host_alias(tensor).sum().item<float>(), 3072.0F);
}

TEST_F(TensorTest, ATensorMayOutliveItsEmulation) {
  const at::Tensor tensor = on_gpu({4});
  retire_devices();
  const DeviceScope scope(kGpu.index());
  EXPECT_EQ(host_alias(tensor).add(1).sum().item<float>(), 8.0F);
}

TEST_F(TensorTest, ASparseTensorCrossesByItsMembers) {
  const at::Tensor tensor = adopt(at::eye(3).to_sparse(), kGpu);
  EXPECT_TRUE(is_virtual(tensor));
  EXPECT_EQ(tensor.device(), kGpu);
  for (const at::Tensor& member : sparse_members(tensor)) EXPECT_TRUE(is_virtual(member));
  EXPECT_TRUE(at::equal(host_alias(tensor).to_dense(), at::eye(3)));
}

TEST_F(TensorTest, OtherLayoutsAreRefused) {
  EXPECT_THROW(adopt(at::ones({2}).to_mkldnn(), kGpu), c10::NotImplementedError);
}

}  // namespace
}  // namespace devsan::emulate
