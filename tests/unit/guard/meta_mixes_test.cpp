#include "guard/meta_mixes.h"

#include <gtest/gtest.h>

namespace devsan::guard {
namespace {

class MetaMixes : public ::testing::Test {
 protected:
  void SetUp() override { forget_meta_mixes(); }
  void TearDown() override {
    set_site_source(nullptr);
    forget_meta_mixes();
  }
};

TEST_F(MetaMixes, AreCountedByOperatorOperandAndSite) {
  ::testing::internal::CaptureStderr();
  note_meta_mix("aten::mm", "mat2");
  note_meta_mix("aten::mm", "mat2");
  note_meta_mix("aten::mm", "self");
  const std::string printed = ::testing::internal::GetCapturedStderr();
  ASSERT_EQ(meta_mixes().size(), 2U);
  EXPECT_EQ(meta_mixes()[0].calls, 2U);
  EXPECT_EQ(meta_mixes()[1].operand, "self");
  EXPECT_EQ(printed,
            "devsan: warning: aten::mm returned memory that nobody wrote: its operand mat2 is on meta and has no "
            "elements\n"
            "devsan: warning: aten::mm returned memory that nobody wrote: its operand self is on meta and has no "
            "elements\n");
}

TEST_F(MetaMixes, TheSiteIsAskedFor) {
  set_site_source([] { return std::string("train.py:12"); });
  ::testing::internal::CaptureStderr();
  note_meta_mix("aten::gather", "index");
  EXPECT_EQ(::testing::internal::GetCapturedStderr().rfind("devsan: warning: train.py:12: aten::gather", 0), 0U);
  ASSERT_EQ(meta_mixes().size(), 1U);
  EXPECT_EQ(meta_mixes()[0].site, "train.py:12");
}

}  // namespace
}  // namespace devsan::guard
