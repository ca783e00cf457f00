#include "emulate/calls/full_size/stand_ins.h"

#include <limits>

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

TEST(StandIns, WhatWouldHaveBeenWrittenHasThem) {
  FullSize::start(64);
  const at::Tensor host = at::full({2, 3}, std::numeric_limits<float>::quiet_NaN());
  stand_in_for_written(host.narrow(1, 0, 1), "aten::copy_");
  EXPECT_EQ(host[0][0].item<float>(), 1.0F);
  EXPECT_TRUE(host[1][2].isnan().item<bool>()) << "behind the last element of the view";
  stand_in_for_written(host, "aten::_amp_foreach_non_finite_check_and_unscale_");
  EXPECT_TRUE(at::equal(host, at::zeros({2, 3}))) << "nothing is infinite";
  FullSize::stop();
}

TEST(StandIns, AreMadeFinite) {
  for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    const at::Tensor host = at::tensor({1.0, 2.0, 0.0, -1.0}, at::kDouble).log().to(dtype);
    EXPECT_FALSE(is_finite(host));
    make_finite(host);
    EXPECT_TRUE(is_finite(host) && host.isfinite().all().item<bool>());
    EXPECT_EQ(host[0].item<float>(), 0.0F) << "what is finite stays";
  }
  EXPECT_TRUE(is_finite(at::arange(3)));
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
