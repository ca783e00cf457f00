// What a process holds of its GPUs, as another process reads it from the file.

#include "memory/gauges.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "memory/caching_allocator.h"

namespace devsan::memory {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kContext = 100 * kMiB;
constexpr std::size_t kFirstGpu = 2 + Gauges::kTimes;

class GaugesTest : public testing::Test {
 protected:
  void SetUp() override { std::remove(path_.c_str()); }
  void TearDown() override { std::remove(path_.c_str()); }

  [[nodiscard]] std::vector<std::uint64_t> words() const {
    std::ifstream file(path_, std::ios::binary | std::ios::ate);
    std::vector<std::uint64_t> found(static_cast<std::size_t>(file.tellg()) / sizeof(std::uint64_t));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(found.data()), static_cast<std::streamsize>(found.size() * sizeof(found[0])));
    return found;
  }
  [[nodiscard]] std::vector<std::uint64_t> gpu(std::size_t index) const {
    const std::vector<std::uint64_t> all = words();
    const auto start = all.begin() + static_cast<std::ptrdiff_t>(kFirstGpu + 3 * index);
    return {start, start + 3};
  }

  const std::string path_ = testing::TempDir() + "devsan-gauges-" + std::to_string(::getpid());
};

using Shown = std::vector<std::uint64_t>;

TEST_F(GaugesTest, ANewFileSaysNothing) {
  const Gauges gauges(path_);
  const std::vector<std::uint64_t> found = words();
  ASSERT_EQ(found.size(), kFirstGpu + 3 * Gauges::kGpus);
  EXPECT_EQ(found[0], Gauges::kFormat);
  for (std::size_t place = 1; place < found.size(); ++place) EXPECT_EQ(found[place], 0U) << place;
  struct stat about {};
  ASSERT_EQ(::stat(path_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0600U);
}

TEST_F(GaugesTest, AFileThatIsThereIsNotTaken) {
  std::ofstream(path_) << "of somebody else";
  EXPECT_THROW(Gauges{path_}, std::system_error);
  EXPECT_THROW(Gauges{path_ + "/none"}, std::system_error);
}

TEST_F(GaugesTest, StepsAreCountedWithTheTimesOfTheLast) {
  Gauges gauges(path_);
  for (std::size_t step = 0; step < Gauges::kTimes + 1; ++step) gauges.count_step();
  const std::vector<std::uint64_t> found = words();
  EXPECT_EQ(found[1], Gauges::kTimes + 1);
  EXPECT_GE(found[2], found[2 + Gauges::kTimes - 1]);  // the last one has taken the place of the first
  EXPECT_LE(found[3], found[4]);
  EXPECT_GT(found[3], 0U);
}

TEST_F(GaugesTest, AnAllocatorShowsWhatItHoldsAfterEachChange) {
  CachingAllocator allocator(1, {.total_bytes = 1000 * kMiB, .context_bytes = kContext});
  allocator.show_on(std::make_shared<Gauges>(path_));
  EXPECT_EQ(gpu(1), (Shown{0, 0, 0}));

  Block* block = allocator.allocate(3 * kMiB, 0);
  EXPECT_EQ(gpu(1), (Shown{3 * kMiB, 20 * kMiB, 20 * kMiB + kContext}));
  EXPECT_EQ(gpu(0), (Shown{0, 0, 0}));

  const Address workspace = allocator.device_allocate(4 * kMiB);
  EXPECT_EQ(gpu(1), (Shown{3 * kMiB, 20 * kMiB, 24 * kMiB + kContext}));
  EXPECT_TRUE(allocator.device_free(workspace));

  allocator.free(block);
  EXPECT_EQ(gpu(1), (Shown{0, 20 * kMiB, 20 * kMiB + kContext}));
  allocator.empty_cache();
  EXPECT_EQ(gpu(1), (Shown{0, 0, kContext}));
}

TEST_F(GaugesTest, ARefusalThatEmptiedTheCacheIsShown) {
  CachingAllocator allocator(0, {.total_bytes = 200 * kMiB, .context_bytes = kContext});
  allocator.show_on(std::make_shared<Gauges>(path_));
  allocator.free(allocator.allocate(20 * kMiB, 0));
  EXPECT_EQ(gpu(0), (Shown{0, 20 * kMiB, 20 * kMiB + kContext}));
  EXPECT_THROW(allocator.allocate(150 * kMiB, 0), OutOfMemory);
  EXPECT_EQ(gpu(0), (Shown{0, 0, kContext}));
}

TEST_F(GaugesTest, WhatWasHeldBeforeIsShownAndWhatComesAfterTheEndIsNot) {
  CachingAllocator allocator(0, {.total_bytes = 1000 * kMiB, .context_bytes = kContext});
  Block* block = allocator.allocate(3 * kMiB, 0);
  allocator.show_on(std::make_shared<Gauges>(path_));
  EXPECT_EQ(gpu(0), (Shown{3 * kMiB, 20 * kMiB, 20 * kMiB + kContext}));
  allocator.stop_sharing();
  allocator.free(block);
  EXPECT_EQ(gpu(0)[0], 3 * kMiB);
}

TEST_F(GaugesTest, AGpuWithoutAPlaceIsLeftOut) {
  Gauges gauges(path_);
  gauges.show(-1, 1, 1, 1);
  gauges.show(Gauges::kGpus, 1, 1, 1);
  gauges.show(Gauges::kGpus - 1, 7, 8, 9);
  EXPECT_EQ(gpu(Gauges::kGpus - 1), (Shown{7, 8, 9}));
  EXPECT_EQ(words()[kFirstGpu], 0U);
}

}  // namespace
}  // namespace devsan::memory
