// Many random calls, then the books must balance: counters against the snapshot, and both against zero.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "memory/caching_allocator.h"
#include "memory/ledger.h"

namespace devsan::memory {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kGiB = std::size_t{1} << 30;

void expect_books_balance(CachingAllocator& allocator) {
  const Stats stats = allocator.stats();
  std::size_t total = 0;
  std::size_t allocated = 0;
  std::size_t active = 0;
  std::size_t requested = 0;
  std::size_t inactive_split = 0;
  Address end_of_last = 0;
  for (const Segment& segment : allocator.snapshot()) {
    ASSERT_GE(segment.address, end_of_last) << "segments overlap";
    end_of_last = segment.address + segment.total_size;
    total += segment.total_size;
    allocated += segment.allocated_size;
    active += segment.active_size;
    requested += segment.requested_size;
    Address expected = segment.address;
    bool last_inactive = false;
    for (const SegmentBlock& block : segment.blocks) {
      ASSERT_EQ(block.address, expected) << "a gap between blocks";
      expected += block.size;
      const bool inactive = block.state == BlockState::kInactive;
      ASSERT_FALSE(inactive && last_inactive) << "free neighbors that were not merged";
      last_inactive = inactive;
      if (inactive && segment.blocks.size() > 1 && !segment.is_expandable) {
        inactive_split += block.size;
      }
    }
  }
  ASSERT_EQ(stats.reserved_bytes.all().current, static_cast<std::int64_t>(total));
  ASSERT_EQ(stats.allocated_bytes.all().current, static_cast<std::int64_t>(allocated));
  ASSERT_EQ(stats.active_bytes.all().current, static_cast<std::int64_t>(active));
  ASSERT_EQ(stats.requested_bytes.all().current, static_cast<std::int64_t>(requested));
  ASSERT_EQ(stats.inactive_split_bytes.all().current, static_cast<std::int64_t>(inactive_split));
  ASSERT_EQ(allocator.free_bytes(), allocator.total_bytes() - total);
}

std::size_t random_size(std::mt19937& random) {
  // Sizes of all three classes, small ones more often.
  const int bits = std::uniform_int_distribution<int>(4, 25)(random);
  return std::uniform_int_distribution<std::size_t>(1, std::size_t{1} << bits)(random);
}

class AllocatorInvariants : public ::testing::TestWithParam<std::string> {};

TEST_P(AllocatorInvariants, HoldThroughRandomCalls) {
  CachingAllocator allocator(0, {.total_bytes = 512 * kMiB}, Settings::parse(GetParam()));
  if (GetParam().find("garbage") != std::string::npos) {
    allocator.set_memory_fraction(0.9);
  }
  std::mt19937 random(20240717);
  std::vector<Block*> held;
  int out_of_memory = 0;
  for (int step = 0; step < 6000; ++step) {
    const int choice = std::uniform_int_distribution<int>(0, 99)(random);
    if (choice < 52 || held.empty()) {
      try {
        held.push_back(allocator.allocate(random_size(random), static_cast<StreamId>(choice % 3)));
      } catch (const OutOfMemory&) {
        ++out_of_memory;
        for (std::size_t i = 0; i < held.size() / 2; ++i) {
          allocator.free(held[i]);
        }
        held.erase(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(held.size() / 2));
      }
    } else {
      const std::size_t index = std::uniform_int_distribution<std::size_t>(0, held.size() - 1)(random);
      if (choice > 90) {
        allocator.record_stream(held[index], static_cast<StreamId>(choice % 5));
      }
      allocator.free(held[index]);
      held[index] = held.back();
      held.pop_back();
    }
    if (step % 997 == 0) {
      allocator.empty_cache();
    }
    if (step % 50 == 0) {
      expect_books_balance(allocator);
      if (HasFatalFailure()) {
        return;
      }
    }
  }
  EXPECT_GT(out_of_memory, 0) << "the budget was never reached: the run proves less than it should";
  for (Block* block : held) {
    allocator.free(block);
  }
  allocator.empty_cache();
  expect_books_balance(allocator);
  const Stats stats = allocator.stats();
  for_each_array(stats, [](const char* name, const StatArray& array) {
    for (const Stat& stat : array.by_pool) {
      EXPECT_EQ(stat.current, 0) << name;
      EXPECT_EQ(stat.allocated, stat.freed) << name;
    }
  });
  EXPECT_EQ(stats.num_device_alloc, stats.num_device_free);
  EXPECT_EQ(Ledger::live_blocks(0), 0);
}

INSTANTIATE_TEST_SUITE_P(Settings, AllocatorInvariants,
                         ::testing::Values("", "max_split_size_mb:21", "roundup_power2_divisions:4",
                                           "garbage_collection_threshold:0.6"));

TEST(AllocatorInvariants, HoldForExpandableSegmentsToo) {
  CachingAllocator allocator(0, {.total_bytes = 512 * kMiB}, Settings::parse("expandable_segments:True"));
  std::mt19937 random(7);
  std::vector<Block*> held;
  for (int step = 0; step < 6000; ++step) {
    const bool take = held.empty() || std::uniform_int_distribution<int>(0, 99)(random) < 52;
    try {
      if (take) {
        held.push_back(allocator.allocate(random_size(random), static_cast<StreamId>(step % 3)));
      }
    } catch (const OutOfMemory&) {
      for (Block* block : held) {
        allocator.free(block);
      }
      held.clear();
    }
    if (!take) {
      const std::size_t index = std::uniform_int_distribution<std::size_t>(0, held.size() - 1)(random);
      allocator.free(held[index]);
      held[index] = held.back();
      held.pop_back();
    }
    if (step % 50 == 0) {
      expect_books_balance(allocator);
      if (::testing::Test::HasFatalFailure()) {
        return;
      }
    }
  }
  for (Block* block : held) {
    allocator.free(block);
  }
  allocator.empty_cache();
  const Stats stats = allocator.stats();
  EXPECT_EQ(stats.reserved_bytes.all().current, 0);
  EXPECT_EQ(stats.active_bytes.all().current, 0);
  EXPECT_EQ(allocator.free_bytes(), 512 * kMiB);
  EXPECT_TRUE(allocator.snapshot().empty());
}

TEST(Threads, LeaveEveryCounterAtZero) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 4000;
  std::vector<std::unique_ptr<CachingAllocator>> devices;
  for (int device = 0; device < 4; ++device) {
    devices.push_back(std::make_unique<CachingAllocator>(device, DeviceBudget{.total_bytes = kGiB}));
  }
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(static_cast<unsigned>(thread));
      std::vector<Block*> held;
      for (int round = 0; round < kRounds; ++round) {
        CachingAllocator& device = *devices[static_cast<std::size_t>((thread + round) % 4)];
        held.push_back(device.allocate(random_size(random) % (2 * kMiB) + 1, static_cast<StreamId>(thread % 2)));
        if (round % 16 == 0) {
          device.record_stream(held.back(), 3);
          (void)device.stats();
          (void)device.snapshot();
        }
        if (held.size() > 20) {
          held.front()->owner->free(held.front());
          held.erase(held.begin());
        }
      }
      for (Block* block : held) {
        block->owner->free(block);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (int device = 0; device < 4; ++device) {
    CachingAllocator& allocator = *devices[static_cast<std::size_t>(device)];
    allocator.empty_cache();
    EXPECT_EQ(allocator.stats().allocation.all().current, 0);
    EXPECT_EQ(allocator.stats().allocation.all().allocated, kThreads * kRounds / 4);
    EXPECT_EQ(allocator.stats().reserved_bytes.all().current, 0);
    EXPECT_EQ(Ledger::live_blocks(device), 0);
    EXPECT_EQ(Ledger::live_bytes(device), 0);
  }
  EXPECT_EQ(Ledger::live_blocks(), 0);
}

}  // namespace
}  // namespace devsan::memory
