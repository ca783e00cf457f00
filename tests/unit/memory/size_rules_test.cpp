#include "memory/size_rules.h"

#include <gtest/gtest.h>

namespace devsan::memory {
namespace {

TEST(SizeRules, BlocksAreMultiplesOf512) {
  EXPECT_EQ(block_size_for(1, 0), 512U);
  EXPECT_EQ(block_size_for(512, 0), 512U);
  EXPECT_EQ(block_size_for(513, 0), 1024U);
  EXPECT_EQ(block_size_for(kMebibyte + 1, 0), kMebibyte + 512);
}

TEST(SizeRules, DivisionsRoundToStepsBetweenPowersOfTwo) {
  // The example in torch's own comment.
  EXPECT_EQ(round_to_power2_division(1200, 4), 1280U);
  EXPECT_EQ(round_to_power2_division(1024, 4), 1024U);
  EXPECT_EQ(round_to_power2_division(1793, 4), 2048U);
  // More divisions than bytes: the next power of two.
  EXPECT_EQ(round_to_power2_division(3, 8), 4U);
}

TEST(SizeRules, DivisionsOnlyApplyAboveOneBlockEach) {
  EXPECT_EQ(block_size_for(1200, 4), 1536U) << "1200 <= 4 * 512: ordinary rounding";
  EXPECT_EQ(block_size_for(5 * kMebibyte, 2), 6 * kMebibyte);
  EXPECT_EQ(block_size_for(5 * kMebibyte, 1), 5 * kMebibyte);
  EXPECT_EQ(block_size_for(5 * kMebibyte + 1, 0), 5 * kMebibyte + 512);
}

TEST(SizeRules, SegmentsFollowThreeClasses) {
  EXPECT_EQ(segment_size_for(512, kLargeBuffer), 2 * kMebibyte);
  EXPECT_EQ(segment_size_for(kMebibyte, kLargeBuffer), 2 * kMebibyte);
  EXPECT_EQ(segment_size_for(kMebibyte + 512, kLargeBuffer), 20 * kMebibyte);
  EXPECT_EQ(segment_size_for(kMinLargeAlloc - 512, kLargeBuffer), 20 * kMebibyte);
  EXPECT_EQ(segment_size_for(kMinLargeAlloc, kLargeBuffer), 10 * kMebibyte);
  EXPECT_EQ(segment_size_for(11 * kMebibyte, kLargeBuffer), 12 * kMebibyte);
  EXPECT_EQ(segment_size_for(2 * kMebibyte, 64 * kMebibyte), 64 * kMebibyte);
}

}  // namespace
}  // namespace devsan::memory
