#include "memory/stream_progress.h"

#include <gtest/gtest.h>

#include <map>

#include "memory/caching_allocator.h"

namespace devsan::memory {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// Streams that come as far as a test says.
class Progress final : public StreamProgress {
 public:
  std::uint64_t launched(int /*device*/, StreamId stream) override { return ++launched_[stream]; }
  bool is_done(int /*device*/, StreamId stream, std::uint64_t moment) override { return moment <= done[stream]; }

  std::map<StreamId, std::uint64_t> done;

 private:
  std::map<StreamId, std::uint64_t> launched_;
};

class StreamProgressTest : public ::testing::Test {
 protected:
  void SetUp() override { allocator.follow(&progress); }

  /// Takes and frees a block that `streams` have used.
  void use_on(std::initializer_list<StreamId> streams) {
    Block* block = allocator.allocate(30 * kMiB, 0);
    for (const StreamId stream : streams) allocator.record_stream(block, stream);
    allocator.free(block);
  }
  void allocate_something() { allocator.free(allocator.allocate(512, 0)); }
  std::size_t active() const { return static_cast<std::size_t>(allocator.stats().active_bytes.all().current); }

  Progress progress;
  CachingAllocator allocator{0, DeviceBudget{.total_bytes = 100 * kMiB}};
};

TEST_F(StreamProgressTest, ABlockIsActiveUntilItsStreamHasComeSoFar) {
  use_on({7});
  allocate_something();
  EXPECT_EQ(active(), 30 * kMiB);
  progress.done[7] = 1;
  EXPECT_EQ(active(), 30 * kMiB) << "nobody has looked yet";
  allocate_something();
  EXPECT_EQ(active(), 0U);
}

TEST_F(StreamProgressTest, ABlockOfSeveralStreamsWaitsForTheLast) {
  use_on({7, 8});
  progress.done[8] = 1;
  allocate_something();
  EXPECT_EQ(active(), 30 * kMiB);
  progress.done[7] = 1;
  allocate_something();
  EXPECT_EQ(active(), 0U);
}

TEST_F(StreamProgressTest, AStreamThatIsBehindHoldsNoneOfAnother) {
  use_on({7});
  use_on({8});
  progress.done[8] = 1;
  allocate_something();
  EXPECT_EQ(active(), 30 * kMiB);
}

TEST_F(StreamProgressTest, AFullQueueOfLaunchesMakesTheHostWait) {
  use_on({7});
  for (std::uint64_t i = 0; i < kLaunchQueue; ++i) allocate_something();
  EXPECT_EQ(active(), 30 * kMiB);
  allocate_something();
  EXPECT_EQ(active(), 0U);
}

TEST_F(StreamProgressTest, MemoryThatIsShortIsWaitedFor) {
  use_on({7});
  use_on({7});
  EXPECT_EQ(allocator.stats().reserved_bytes.all().current, static_cast<std::int64_t>(60 * kMiB));
  Block* block = allocator.allocate(90 * kMiB, 0);
  EXPECT_EQ(active(), 90 * kMiB);
  EXPECT_EQ(allocator.stats().num_sync_all_streams, 1);
  allocator.free(block);
}

}  // namespace
}  // namespace devsan::memory
