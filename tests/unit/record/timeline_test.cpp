#include "record/timeline.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace devsan::record {
namespace {

class TimelineTest : public testing::Test {
 protected:
  TimelineTest() { timeline.start(); }
  ~TimelineTest() override { timeline.stop(); }

  static void pause() { std::this_thread::sleep_for(std::chrono::nanoseconds(2 * Timeline::kPause)); }

  Timeline& timeline = Timeline::instance();
};

TEST_F(TimelineTest, MovesOfOnePlaceWithoutAPauseAreOneEntry) {
  for (int time = 0; time < 50; ++time) {
    timeline.add_transfer(7, 100);
    timeline.add_transfer(8, 1);
  }
  pause();
  timeline.add_transfer(7, 1);
  const Timeline::Entries entries = timeline.drain();
  ASSERT_GE(entries.transfers.size(), 3U);
  EXPECT_LE(entries.transfers.size(), 20U);  // 3, but for stops of the machine
  std::uint64_t times = 0;
  for (const Transfer& each : entries.transfers) {
    EXPECT_LE(each.first, each.last);
    times += each.times;
  }
  EXPECT_EQ(times, 101U);
  EXPECT_EQ(entries.transfers.front().placement, 7U);
  EXPECT_EQ(entries.transfers.back().placement, 7U);
  EXPECT_TRUE(timeline.drain().transfers.empty());
}

TEST_F(TimelineTest, TheOldestGoFirstAndAreCounted) {
  const std::size_t more = 3;
  for (std::size_t number = 0; number < Timeline::kMaxTransfers + more; ++number) {
    timeline.add_transfer(static_cast<PlacementId>(number + 1), 1);
  }
  const Timeline::Entries entries = timeline.drain();
  ASSERT_EQ(entries.transfers.size(), Timeline::kMaxTransfers);
  EXPECT_EQ(entries.lost, more);
  EXPECT_EQ(entries.transfers.front().placement, more + 1);
  EXPECT_EQ(entries.transfers.back().placement, Timeline::kMaxTransfers + more);
  EXPECT_EQ(timeline.drain().lost, 0U);
}

TEST_F(TimelineTest, TheNewestEntryOfAFullRingCanStillGrow) {
  for (std::size_t number = 0; number <= Timeline::kMaxTransfers; ++number) {
    timeline.add_transfer(static_cast<PlacementId>(number + 1), 1);
  }
  timeline.add_transfer(Timeline::kMaxTransfers + 1, 1);
  const Timeline::Entries entries = timeline.drain();
  EXPECT_EQ(entries.transfers.size(), Timeline::kMaxTransfers);
  EXPECT_EQ(entries.transfers.back().placement, Timeline::kMaxTransfers + 1);
}

TEST_F(TimelineTest, WhatIsNotKnownOrOffIsNotNoted) {
  timeline.add_transfer(kUnknownPlacement, 1);
  timeline.stop();
  timeline.add_transfer(1, 1);
  EXPECT_FALSE(timeline.wants_sample(0));
  EXPECT_TRUE(timeline.drain().transfers.empty());
}

TEST_F(TimelineTest, AStartForgetsWhatWasThere) {
  timeline.add_transfer(1, 1);
  timeline.start();
  EXPECT_TRUE(timeline.drain().transfers.empty());
}

TEST_F(TimelineTest, MemoryIsLookedAtNowAndThen) {
  while (!timeline.wants_sample(5)) pause();
  EXPECT_TRUE(timeline.wants_sample(6)) << "every GPU by itself";
  EXPECT_FALSE(timeline.wants_sample(kHost));
  timeline.add_sample({.device = 5, .allocated = 10, .reserved = 20, .held = {0, 10}});
  pause();
  EXPECT_TRUE(timeline.wants_sample(5));
  const Timeline::Entries entries = timeline.drain();
  ASSERT_EQ(entries.samples.size(), 1U);
  EXPECT_EQ(entries.samples[0].device, 5);
  EXPECT_EQ(entries.samples[0].allocated, 10);
  EXPECT_EQ(entries.samples[0].reserved, 20);
}

TEST_F(TimelineTest, ThreadsMayMoveAtTheSameTime) {
  std::vector<std::thread> threads;
  for (PlacementId thread = 1; thread <= 4; ++thread) {
    threads.emplace_back([this, thread] {
      for (int time = 0; time < 1000; ++time) timeline.add_transfer(thread, 2);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t bytes = 0;
  for (const Transfer& each : timeline.drain().transfers) bytes += each.bytes;
  EXPECT_EQ(bytes, 4U * 1000 * 2);
}

}  // namespace
}  // namespace devsan::record
