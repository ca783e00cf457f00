#include <gtest/gtest.h>

#include <vector>

#include "memory/caching_allocator.h"

namespace devsan::memory {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kGiB = std::size_t{1} << 30;

class ExpandableSegmentsTest : public ::testing::Test {
 protected:
  std::int64_t reserved() const { return allocator.stats().reserved_bytes.all().current; }

  CachingAllocator allocator{0, {.total_bytes = kGiB}, Settings::parse("expandable_segments:True")};
};

TEST_F(ExpandableSegmentsTest, OneSegmentGrowsByPages) {
  Block* first = allocator.allocate(30 * kMiB, 0);
  EXPECT_EQ(first->size, 30 * kMiB);
  EXPECT_EQ(reserved(), 40 * kMiB) << "pages of 20 MiB";
  Block* second = allocator.allocate(30 * kMiB, 0);
  EXPECT_EQ(second->address, first->address + first->size) << "the same segment, further on";
  EXPECT_EQ(reserved(), 60 * kMiB);
  const Stats stats = allocator.stats();
  EXPECT_EQ(stats.segment.all().current, 0) << "torch counts segments of cudaMalloc only";
  EXPECT_EQ(stats.inactive_split.all().current, 0) << "and leaves free pages out of inactive_split";
  EXPECT_EQ(stats.num_device_alloc, 2);
  const auto segments = allocator.snapshot();
  ASSERT_EQ(segments.size(), 1U);
  EXPECT_TRUE(segments[0].is_expandable);
  EXPECT_EQ(segments[0].total_size, 60 * kMiB);
  EXPECT_EQ(segments[0].blocks.size(), 2U);
  allocator.free(first);
  allocator.free(second);
}

TEST_F(ExpandableSegmentsTest, SmallRequestsUsePagesOfTwoMebibytes) {
  Block* block = allocator.allocate(1, 0);
  EXPECT_EQ(reserved(), 2 * kMiB);
  allocator.free(block);
}

TEST_F(ExpandableSegmentsTest, AHoleDoesNotKeepMemoryFromTheDevice) {
  // What fails with ordinary segments: half of a segment in use, half wanted elsewhere.
  std::vector<Block*> blocks;
  for (int i = 0; i < 50; ++i) {
    blocks.push_back(allocator.allocate(20 * kMiB, 0));
  }
  EXPECT_EQ(reserved(), 1000 * kMiB);
  for (std::size_t i = 0; i < blocks.size(); i += 2) {
    allocator.free(blocks[i]);
  }
  Block* large = allocator.allocate(400 * kMiB, 0);
  EXPECT_NE(large, nullptr) << "pages of the holes were unmapped and mapped again at the end";
  EXPECT_EQ(allocator.stats().num_alloc_retries, 1);
  EXPECT_EQ(reserved(), 900 * kMiB);
  EXPECT_EQ(allocator.free_bytes(), 124 * kMiB);
  allocator.free(large);
  for (std::size_t i = 1; i < blocks.size(); i += 2) {
    allocator.free(blocks[i]);
  }
  allocator.empty_cache();
  EXPECT_EQ(reserved(), 0);
  EXPECT_EQ(allocator.free_bytes(), kGiB);
  EXPECT_TRUE(allocator.snapshot().empty());
}

TEST_F(ExpandableSegmentsTest, PartOfAPageStaysCached) {
  Block* front = allocator.allocate(30 * kMiB, 0);
  Block* back = allocator.allocate(70 * kMiB, 0);
  allocator.free(front);
  allocator.empty_cache();
  EXPECT_EQ(reserved(), 80 * kMiB) << "of 30 free MiB one page of 20 lies wholly in the hole";
  const auto segments = allocator.snapshot();
  ASSERT_EQ(segments.size(), 1U) << "the mapped rest is contiguous";
  EXPECT_EQ(segments[0].total_size, 80 * kMiB);
  EXPECT_EQ(segments[0].blocks.front().size, 10 * kMiB);
  Block* again = allocator.allocate(30 * kMiB, 0);
  EXPECT_EQ(again->address, back->address - 30 * kMiB) << "the gap is filled first";
  EXPECT_EQ(reserved(), 100 * kMiB);
  allocator.free(again);
  allocator.free(back);
}

TEST_F(ExpandableSegmentsTest, StreamsHaveSegmentsOfTheirOwn) {
  Block* first = allocator.allocate(30 * kMiB, 1);
  Block* second = allocator.allocate(30 * kMiB, 2);
  EXPECT_EQ(allocator.snapshot().size(), 2U);
  allocator.free(first);
  allocator.free(second);
}

TEST_F(ExpandableSegmentsTest, RunningOutLeavesTheAllocatorUsable) {
  Block* held = allocator.allocate(900 * kMiB, 0);
  EXPECT_THROW((void)allocator.allocate(200 * kMiB, 0), OutOfMemory);
  allocator.free(held);
  Block* fits = allocator.allocate(1000 * kMiB, 0);
  EXPECT_EQ(reserved(), 1000 * kMiB);
  allocator.free(fits);
}

TEST_F(ExpandableSegmentsTest, OversizeBlocksAreUnmappedNotReleased) {
  allocator.update_settings("expandable_segments:True,max_split_size_mb:100");
  std::vector<Block*> blocks{allocator.allocate(400 * kMiB, 0)};
  allocator.free(allocator.allocate(500 * kMiB, 0));
  EXPECT_THROW((void)allocator.allocate(700 * kMiB, 0), OutOfMemory);
  blocks.push_back(allocator.allocate(300 * kMiB, 0));
  blocks.push_back(allocator.allocate(300 * kMiB, 0));
  EXPECT_THROW((void)allocator.allocate(300 * kMiB, 0), OutOfMemory);
  ASSERT_EQ(allocator.snapshot().size(), 1U);
  EXPECT_EQ(reserved(), 1000 * kMiB);
  for (Block* block : blocks) allocator.free(block);
  allocator.empty_cache();
  EXPECT_EQ(reserved(), 0);
}

TEST_F(ExpandableSegmentsTest, TurnedOffOldPagesAreNotHandedOut) {
  Block* old = allocator.allocate(30 * kMiB, 0);
  allocator.free(old);
  allocator.update_settings("expandable_segments:False");
  Block* fresh = allocator.allocate(30 * kMiB, 0);
  EXPECT_EQ(reserved(), 70 * kMiB);
  EXPECT_EQ(allocator.stats().segment.all().current, 1);
  allocator.free(fresh);
}

}  // namespace
}  // namespace devsan::memory
