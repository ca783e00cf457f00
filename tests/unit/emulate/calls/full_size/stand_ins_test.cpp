#include "emulate/calls/full_size/stand_ins.h"

#include <gtest/gtest.h>

#include <ATen/Functions.h>

#include "emulate/runtime/full_size/unknown.h"
#include "emulate/runtime/host_allocator.h"

namespace devsan::emulate {
namespace {

at::Tensor standing_in(at::ScalarType dtype, std::string_view op = "aten::mul") {
  at::Tensor tensor = at::full({3}, 5, dtype);
  write_stand_ins(tensor, op);
  return tensor;
}

TEST(StandIns, AreFiniteAndTheSameInEachRun) {
  EXPECT_TRUE(at::equal(standing_in(at::kFloat), at::ones({3})));
  EXPECT_TRUE(at::equal(standing_in(at::kBFloat16), at::ones({3}, at::kBFloat16)));
  EXPECT_TRUE(at::equal(standing_in(at::kComplexFloat), at::ones({3}, at::kComplexFloat)));
  EXPECT_TRUE(at::equal(standing_in(at::kLong), at::zeros({3}, at::kLong)));
}

TEST(StandIns, NothingIsSoUnlessAllIs) {
  EXPECT_FALSE(standing_in(at::kBool, "aten::isnan").any().item<bool>());
  EXPECT_TRUE(standing_in(at::kBool, "aten::all").all().item<bool>());
}

TEST(StandIns, OneNumber) {
  EXPECT_EQ(stand_in_number(at::kHalf).toScalar().toDouble(), 1.0);
  EXPECT_EQ(stand_in_number(at::kInt).toScalar().toLong(), 0);
  EXPECT_FALSE(stand_in_number(at::kBool).toScalar().toBool());
}

TEST(StandIns, AMaskChoosesEverything) {
  host_allocator().install();
  FullSize::start(16);
  const at::Tensor table = make_unknown({4, 6}, at::kFloat, at::MemoryFormat::Contiguous);
  const at::Tensor mask = make_unknown({1, 6}, at::kBool, at::MemoryFormat::Contiguous);
  EXPECT_EQ(chosen_elements("aten::nonzero", {table})->toTensor().sizes(), (at::IntArrayRef{24, 2}));
  const std::vector<c10::IValue> operands{table, mask};
  EXPECT_EQ(chosen_elements("aten::masked_select", operands)->toTensor().sizes(), at::IntArrayRef{24});
  EXPECT_TRUE(chosen_elements("aten::equal", operands)->toBool());
  EXPECT_FALSE(chosen_elements("aten::mul", operands).has_value());
  FullSize::stop();
}

}  // namespace
}  // namespace devsan::emulate
