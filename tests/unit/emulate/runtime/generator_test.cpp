#include "emulate/runtime/generator.h"

#include <gtest/gtest.h>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>

namespace devsan::emulate {
namespace {

at::Tensor draw(DeviceGenerator& generator) { return at::rand({4}, generator.next_host_generator()); }

TEST(DeviceGenerator, TheSameSeedDrawsTheSameNumbers) {
  DeviceGenerator first(0);
  DeviceGenerator second(1);
  first.set_current_seed(7);
  second.set_current_seed(7);
  EXPECT_TRUE(at::equal(draw(first), draw(second)));
  EXPECT_TRUE(at::equal(draw(first), draw(second)));
}

TEST(DeviceGenerator, TheFirstDrawIsTheCpusAndTheNextIsAnother) {
  DeviceGenerator generator(0);
  generator.set_current_seed(7);
  const at::Tensor first = draw(generator);
  EXPECT_TRUE(at::equal(first, at::rand({4}, at::detail::createCPUGenerator(7))));
  EXPECT_FALSE(at::equal(first, draw(generator)));
  EXPECT_EQ(generator.get_offset(), 2 * DeviceGenerator::kOffsetStep);
}

TEST(DeviceGenerator, NeighboringPlacesDrawUnrelatedNumbers) {
  constexpr std::int64_t kPlaces = 2000;
  DeviceGenerator generator(0);
  draw(generator);
  at::Tensor numbers = at::empty({kPlaces, 4});
  for (std::int64_t i = 0; i < kPlaces; ++i) numbers[i].copy_(draw(generator));
  EXPECT_NEAR(numbers.mean().item<double>(), 0.5, 0.02);
  EXPECT_NEAR(numbers.var().item<double>(), 1.0 / 12.0, 0.01);
  const at::Tensor beside = at::corrcoef(at::stack({numbers.slice(0, 1).flatten(), numbers.slice(0, 0, -1).flatten()}));
  EXPECT_NEAR(beside[0][1].item<double>(), 0.0, 0.05);
}

TEST(DeviceGenerator, AGeneratorInUseIsNotGivenOutAgain) {
  DeviceGenerator generator(0);
  generator.set_current_seed(7);
  const at::Generator held = generator.next_host_generator();
  const at::Generator other = generator.next_host_generator();
  EXPECT_NE(held, other);
  EXPECT_TRUE(at::equal(at::rand({4}, held), at::rand({4}, at::detail::createCPUGenerator(7))));
}

TEST(DeviceGenerator, NothingIsLeftOfTheLastDraw) {
  DeviceGenerator generator(0);
  generator.set_current_seed(7);
  draw(generator);
  at::empty({1}).normal_(0, 1, generator.next_host_generator());  // keeps the second number of a pair
  const at::Tensor after = at::empty({1}).normal_(0, 1, generator.next_host_generator());
  generator.set_offset(2 * DeviceGenerator::kOffsetStep);
  EXPECT_TRUE(at::equal(at::empty({1}).normal_(0, 1, generator.next_host_generator()), after));
}

TEST(DeviceGenerator, AStateIsSixteenBytesAndBringsItsNumbersBack) {
  DeviceGenerator generator(0);
  generator.set_current_seed(7);
  draw(generator);
  const auto state = generator.get_state();
  EXPECT_EQ(state->numel(), 16);
  const at::Tensor expected = draw(generator);
  draw(generator);
  generator.set_state(*state);
  EXPECT_TRUE(at::equal(draw(generator), expected));
}

TEST(DeviceGenerator, AWrongStateIsRefused) {
  DeviceGenerator generator(0);
  const at::Tensor state = at::zeros({5}, at::kByte);
  EXPECT_THROW(generator.set_state(*state.unsafeGetTensorImpl()), c10::Error);
  EXPECT_THROW(generator.set_offset(3), c10::Error);
}

TEST(HostGenerator, ACpuGeneratorIsRefusedInTorchsWords) {
  try {
    host_generator(at::detail::createCPUGenerator(7), 0);
    FAIL() << "expected a refusal";
  } catch (const c10::Error& error) {
    EXPECT_STREQ(error.what_without_backtrace(), "Expected a 'cuda' device type for generator but found 'cpu'");
  }
}

}  // namespace
}  // namespace devsan::emulate
