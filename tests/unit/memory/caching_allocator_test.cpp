#include "memory/caching_allocator.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "memory/ledger.h"

namespace devsan::memory {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kGiB = std::size_t{1} << 30;

class CachingAllocatorTest : public ::testing::Test {
 protected:
  static DeviceBudget one_gibibyte() { return {.total_bytes = kGiB}; }

  Stats stats() const { return allocator.stats(); }
  std::int64_t allocated() const { return stats().allocated_bytes.all().current; }
  std::int64_t reserved() const { return stats().reserved_bytes.all().current; }

  CachingAllocator allocator{0, one_gibibyte()};
};

TEST_F(CachingAllocatorTest, OneByteTakes512OfASmallSegment) {
  Block* block = allocator.allocate(1, 0);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(block->size, 512U);
  EXPECT_EQ(block->requested_size, 1U);
  EXPECT_EQ(block->device, 0);
  EXPECT_EQ(block->owner, &allocator);
  EXPECT_EQ(allocated(), 512);
  EXPECT_EQ(reserved(), 2 * kMiB);
  const Stats now = stats();
  EXPECT_EQ(now.requested_bytes.all().current, 1);
  EXPECT_EQ(now.segment.small_pool().current, 1);
  EXPECT_EQ(now.segment.large_pool().current, 0);
  EXPECT_EQ(now.inactive_split.all().current, 1);
  EXPECT_EQ(now.inactive_split_bytes.all().current, static_cast<std::int64_t>(2 * kMiB - 512));
  allocator.free(block);
  EXPECT_EQ(allocated(), 0);
  EXPECT_EQ(reserved(), 2 * kMiB) << "the segment stays cached";
  EXPECT_EQ(stats().inactive_split.all().current, 0) << "merged into a whole segment again";
  EXPECT_EQ(stats().inactive_split_bytes.all().current, 0);
}

TEST_F(CachingAllocatorTest, WhatIsHeldIsToldByThePhaseThatTookIt) {
  enter_phase(Phase::kLoad);
  Block* weight = allocator.allocate(kMiB, 0);
  enter_phase(Phase::kForward);
  Block* activation = allocator.allocate(2 * kMiB, 0);
  enter_phase(Phase::kBackward);
  allocator.free(activation);  // whoever frees it, it was taken in the forward pass
  Block* gradient = allocator.allocate(kMiB, 0);
  enter_phase(Phase::kNone);
  EXPECT_EQ(stats().held_by_phase, (ByPhase{0, kMiB, 0, kMiB, 0}));
  Block* other = allocator.allocate(512, 0);
  EXPECT_EQ(stats().held_by_phase, (ByPhase{512, kMiB, 0, kMiB, 0}));
  for (Block* block : {weight, gradient, other}) allocator.free(block);
  EXPECT_EQ(stats().held_by_phase, ByPhase{});
}

TEST_F(CachingAllocatorTest, ZeroBytesAreNoBlock) {
  EXPECT_EQ(allocator.allocate(0, 0), nullptr);
  allocator.free(nullptr);
  allocator.record_stream(nullptr, 1);
  EXPECT_EQ(stats().allocation.all().allocated, 0);
}

TEST_F(CachingAllocatorTest, OneAndAHalfMebibytesShareASegmentOfTwenty) {
  Block* block = allocator.allocate(3 * kMiB / 2, 0);
  EXPECT_EQ(allocated(), 3 * kMiB / 2);
  EXPECT_EQ(reserved(), 20 * kMiB);
  Block* neighbor = allocator.allocate(9 * kMiB, 0);
  EXPECT_EQ(reserved(), 20 * kMiB);
  EXPECT_EQ(neighbor->address, block->address + block->size);
  allocator.free(block);
  allocator.free(neighbor);
}

TEST_F(CachingAllocatorTest, ElevenMebibytesGetASegmentOfTwelveUnsplit) {
  Block* block = allocator.allocate(11 * kMiB, 0);
  EXPECT_EQ(reserved(), 12 * kMiB);
  EXPECT_EQ(block->size, 12 * kMiB) << "a rest of at most 1 MiB is not split off a large block";
  EXPECT_EQ(allocated(), 12 * kMiB);
  EXPECT_EQ(stats().requested_bytes.all().current, static_cast<std::int64_t>(11 * kMiB));
  allocator.free(block);
}

TEST_F(CachingAllocatorTest, TheSmallestBlockThatFitsIsTaken) {
  Block* large = allocator.allocate(40 * kMiB, 0);
  Block* fitting = allocator.allocate(30 * kMiB, 0);
  const Address address = fitting->address;
  allocator.free(large);
  allocator.free(fitting);
  Block* again = allocator.allocate(30 * kMiB, 0);
  EXPECT_EQ(again->address, address);
  EXPECT_EQ(reserved(), 70 * kMiB);
  allocator.free(again);
}

TEST_F(CachingAllocatorTest, OfEqualBlocksTheOneOfTheOldestSegmentIsTaken) {
  Block* below = allocator.allocate(32 * kMiB, 0);
  Block* older = allocator.allocate(32 * kMiB, 0);
  const Address oldest = older->address;
  allocator.free(below);
  allocator.empty_cache();
  Block* younger = allocator.allocate(32 * kMiB, 0);
  ASSERT_LT(younger->address, oldest) << "a younger segment at the lower, freed addresses";
  allocator.free(younger);
  allocator.free(older);
  Block* taken = allocator.allocate(32 * kMiB, 0);
  EXPECT_EQ(taken->address, oldest);
  allocator.free(taken);
}

TEST_F(CachingAllocatorTest, NeighborsMergeOnFree) {
  std::vector<Block*> blocks;
  for (int i = 0; i < 4; ++i) {
    blocks.push_back(allocator.allocate(512 * 1024, 0));
  }
  EXPECT_EQ(reserved(), 2 * kMiB) << "four half mebibytes fill one small segment";
  EXPECT_EQ(stats().inactive_split.all().current, 0);
  allocator.free(blocks[0]);
  allocator.free(blocks[2]);
  EXPECT_EQ(stats().inactive_split.all().current, 2);
  Block* too_large = allocator.allocate(1024 * 1024, 0);
  EXPECT_EQ(reserved(), 4 * kMiB) << "two holes of half the size do not serve a whole mebibyte: fragmentation";
  allocator.free(blocks[1]);
  EXPECT_EQ(stats().inactive_split.all().current, 2) << "one hole of 1.5 MiB, one rest beside too_large";
  EXPECT_EQ(stats().inactive_split_bytes.all().current, static_cast<std::int64_t>(5 * kMiB / 2));
  allocator.free(blocks[3]);
  allocator.free(too_large);
  EXPECT_EQ(stats().inactive_split.all().current, 0);
  allocator.empty_cache();
  EXPECT_EQ(reserved(), 0);
}

TEST_F(CachingAllocatorTest, StreamsDoNotShareCachedBlocks) {
  Block* first = allocator.allocate(30 * kMiB, 1);
  allocator.free(first);
  Block* second = allocator.allocate(30 * kMiB, 2);
  EXPECT_EQ(reserved(), 60 * kMiB);
  EXPECT_EQ(second->stream, 2U);
  allocator.free(second);
}

TEST_F(CachingAllocatorTest, EmptyCacheKeepsSegmentsInUse) {
  Block* kept = allocator.allocate(1024, 0);
  Block* freed = allocator.allocate(64 * kMiB, 0);
  allocator.free(freed);
  EXPECT_EQ(reserved(), 66 * kMiB);
  allocator.empty_cache();
  EXPECT_EQ(reserved(), 2 * kMiB);
  EXPECT_EQ(stats().num_sync_all_streams, 1);
  EXPECT_EQ(stats().num_device_free, 1);
  EXPECT_EQ(stats().num_device_alloc, 2);
  allocator.free(kept);
}

TEST_F(CachingAllocatorTest, PeaksStandUntilTheyAreReset) {
  Block* block = allocator.allocate(100 * kMiB, 0);
  allocator.free(block);
  EXPECT_EQ(stats().allocated_bytes.all().peak, static_cast<std::int64_t>(100 * kMiB));
  allocator.reset_peak_stats();
  EXPECT_EQ(stats().allocated_bytes.all().peak, 0);
  EXPECT_EQ(stats().reserved_bytes.all().peak, static_cast<std::int64_t>(100 * kMiB)) << "still reserved";
  EXPECT_EQ(stats().allocated_bytes.all().allocated, static_cast<std::int64_t>(100 * kMiB));
  EXPECT_EQ(stats().allocated_bytes.all().freed, static_cast<std::int64_t>(100 * kMiB));
  allocator.reset_accumulated_stats();
  EXPECT_EQ(stats().allocated_bytes.all().allocated, 0);
  EXPECT_EQ(stats().allocated_bytes.all().freed, 0);
  EXPECT_EQ(stats().num_device_alloc, 0);
}

TEST_F(CachingAllocatorTest, ARecordedStreamHoldsTheBlockUntilTheNextAllocation) {
  Block* block = allocator.allocate(30 * kMiB, 0);
  const Address address = block->address;
  allocator.record_stream(block, 7);
  allocator.record_stream(block, 7);
  allocator.free(block);
  Stats waiting = stats();
  EXPECT_EQ(waiting.allocated_bytes.all().current, 0);
  EXPECT_EQ(waiting.active_bytes.all().current, static_cast<std::int64_t>(30 * kMiB));
  EXPECT_EQ(allocator.snapshot().at(0).blocks.at(0).state, BlockState::kActivePendingFree);
  Block* next = allocator.allocate(30 * kMiB, 0);
  EXPECT_EQ(next->address, address) << "its stream is done by now, so it is handed out again";
  allocator.free(next);
  EXPECT_EQ(stats().active_bytes.all().current, 0);
}

TEST_F(CachingAllocatorTest, ItsOwnStreamDoesNotHoldABlock) {
  Block* block = allocator.allocate(30 * kMiB, 3);
  allocator.record_stream(block, 3);
  allocator.free(block);
  EXPECT_EQ(stats().active.all().current, 0);
}

TEST_F(CachingAllocatorTest, EmptyCacheWaitsForRecordedStreams) {
  Block* block = allocator.allocate(30 * kMiB, 0);
  allocator.record_stream(block, 7);
  allocator.free(block);
  allocator.empty_cache();
  EXPECT_EQ(reserved(), 0);
}

TEST_F(CachingAllocatorTest, AFullDeviceEmptiesTheCacheAndTriesAgain) {
  Block* first = allocator.allocate(600 * kMiB, 0);
  allocator.free(first);
  Block* second = allocator.allocate(700 * kMiB, 0);
  EXPECT_EQ(reserved(), 700 * kMiB);
  EXPECT_EQ(stats().num_alloc_retries, 1);
  EXPECT_EQ(stats().num_ooms, 0);
  allocator.free(second);
}

TEST_F(CachingAllocatorTest, DestructionForgetsWhatIsHeld) {
  const std::int64_t before = Ledger::live_blocks(5);
  {
    CachingAllocator other(5, one_gibibyte());
    (void)other.allocate(100, 0);
    EXPECT_EQ(Ledger::live_blocks(5), before + 1);
    EXPECT_EQ(Ledger::live_bytes(5), 512);
  }
  EXPECT_EQ(Ledger::live_blocks(5), before);
  EXPECT_EQ(Ledger::live_bytes(5), 0);
}

TEST_F(CachingAllocatorTest, TheDeviceCountsContextSegmentsAndDirectAllocations) {
  CachingAllocator busy(0, {.total_bytes = kGiB, .busy_bytes = 100 * kMiB, .context_bytes = 300 * kMiB});
  EXPECT_EQ(busy.total_bytes(), kGiB);
  EXPECT_EQ(busy.free_bytes(), 624 * kMiB) << "asking opens the device, which takes the context";
  Block* block = busy.allocate(1, 0);
  EXPECT_EQ(busy.free_bytes(), 622 * kMiB);
  const Address direct = busy.device_allocate(3 * kMiB);
  EXPECT_NE(direct, 0U);
  EXPECT_EQ(busy.free_bytes(), 618 * kMiB) << "whole pages of 2 MiB";
  EXPECT_EQ(busy.stats().reserved_bytes.all().current, static_cast<std::int64_t>(2 * kMiB));
  EXPECT_EQ(busy.device_allocate(619 * kMiB), 0U);
  EXPECT_TRUE(busy.device_free(direct));
  EXPECT_FALSE(busy.device_free(direct));
  EXPECT_EQ(busy.free_bytes(), 622 * kMiB);
  busy.free(block);
}

TEST_F(CachingAllocatorTest, FreedAddressesAreUsedAgain) {
  Block* block = allocator.allocate(64 * kMiB, 0);
  const Address address = block->address;
  allocator.free(block);
  allocator.empty_cache();
  Block* again = allocator.allocate(32 * kMiB, 0);
  EXPECT_EQ(again->address, address);
  allocator.free(again);
}

}  // namespace
}  // namespace devsan::memory
