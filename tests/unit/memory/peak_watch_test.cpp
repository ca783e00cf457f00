#include "memory/peak_watch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "memory/caching_allocator.h"

namespace devsan::memory {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

class PeakWatchTest : public testing::Test {
 protected:
  PeakWatchTest() { PeakWatch::watch(true); }
  ~PeakWatchTest() override { PeakWatch::watch(false); }

  CachingAllocator allocator{0, {.total_bytes = 1024 * kMiB}};
};

std::uint64_t sum(const Peak& peak) {
  std::uint64_t bytes = 0;
  for (const TaggedBlock& each : peak.held) bytes += each.size;
  return bytes;
}

TEST_F(PeakWatchTest, KeepsWhatWasHeldWhenTheMostWas) {
  Block* weights = allocator.allocate(40 * kMiB, 0, 0, /*tag=*/1);
  Block* input = allocator.allocate(20 * kMiB, 0, 0, /*tag=*/2);
  allocator.set_tag(input, 3);  // a result says what computed it once it is there
  const std::uint64_t serial = input->serial;
  allocator.free(input);
  allocator.free(allocator.allocate(10 * kMiB, 0, 0, /*tag=*/4));
  const auto peak = allocator.peak();
  ASSERT_NE(peak, nullptr);
  EXPECT_EQ(peak->allocated, 60 * kMiB);
  EXPECT_EQ(sum(*peak), peak->allocated);
  ASSERT_EQ(peak->held.size(), 2U);
  const auto at = std::ranges::find(peak->held, Tag{3}, &TaggedBlock::tag);
  ASSERT_NE(at, peak->held.end());
  EXPECT_EQ(at->serial, serial);
  EXPECT_NE(weights->serial, serial);
  allocator.free(weights);
}

TEST_F(PeakWatchTest, ABlockKeepsThePartOfTheProgramThatTookIt) {
  Block* outside = allocator.allocate(kMiB, 0);
  Block* inside = nullptr;
  Block* around = nullptr;
  {
    const ScopeGuard layer(1);
    {
      const ScopeGuard part(2);
      inside = allocator.allocate(kMiB, 0);
    }
    around = allocator.allocate(kMiB, 0);
  }
  EXPECT_EQ(outside->scope, 0U);
  EXPECT_EQ(inside->scope, 2U);
  EXPECT_EQ(around->scope, 1U);
  EXPECT_EQ(ScopeGuard::current(), 0U);
  for (Block* each : {outside, inside, around}) allocator.free(each);
  Block* again = allocator.allocate(kMiB, 0);
  EXPECT_EQ(again->scope, 0U) << "of the allocation, not of the memory";
  allocator.free(again);
}

TEST_F(PeakWatchTest, IsThereBeforeAnythingIsFreed) {
  Block* block = allocator.allocate(4 * kMiB, 0);
  ASSERT_NE(allocator.peak(), nullptr);
  EXPECT_EQ(allocator.peak()->allocated, 4 * kMiB);
  allocator.free(block);
}

TEST_F(PeakWatchTest, TheSameHeightIsNotCopiedAgain) {
  allocator.free(allocator.allocate(4 * kMiB, 0));
  const auto first = allocator.peak();
  allocator.free(allocator.allocate(4 * kMiB, 0));
  EXPECT_EQ(allocator.peak(), first);
  allocator.free(allocator.allocate(8 * kMiB, 0));
  EXPECT_NE(allocator.peak(), first);
}

TEST_F(PeakWatchTest, AsksForTheCauseOfARiseAndOfNothingElse) {
  Block* high = allocator.allocate(8 * kMiB, 0);
  EXPECT_TRUE(allocator.asks_for_peak_cause());
  allocator.tell_peak_cause(7);
  EXPECT_FALSE(allocator.asks_for_peak_cause());
  allocator.free(high);
  Block* low = allocator.allocate(2 * kMiB, 0);
  EXPECT_FALSE(allocator.asks_for_peak_cause());
  EXPECT_EQ(allocator.peak()->cause, 7U);
  allocator.free(low);
}

TEST_F(PeakWatchTest, ARiseThatNobodyExplainsHasNoCause) {
  Block* first = allocator.allocate(8 * kMiB, 0);
  allocator.tell_peak_cause(7);
  Block* second = allocator.allocate(8 * kMiB, 0);
  EXPECT_EQ(allocator.peak()->cause, 0U) << "7 explains the first";
  allocator.free(second);
  allocator.free(first);
}

TEST_F(PeakWatchTest, NothingIsKeptWhereNobodyWatches) {
  PeakWatch::watch(false);
  allocator.free(allocator.allocate(8 * kMiB, 0));
  EXPECT_EQ(allocator.peak(), nullptr);
}

}  // namespace
}  // namespace devsan::memory
