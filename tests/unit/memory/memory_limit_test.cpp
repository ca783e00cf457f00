// What happens at the limit: out of memory, the memory fraction, and the settings that release early.

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "memory/caching_allocator.h"

namespace devsan::memory {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kGiB = std::size_t{1} << 30;

std::string sentence_of_allocating(CachingAllocator& allocator, std::size_t bytes) {
  try {
    (void)allocator.allocate(bytes, 0);
  } catch (const OutOfMemory& error) {
    return error.what();
  }
  return "allocated";
}

TEST(OutOfMemoryOfAnAllocator, NamesTheFiguresOfTheDevice) {
  CachingAllocator allocator(
      3, {.total_bytes = 24 * kGiB, .busy_bytes = kGiB, .context_bytes = 500 * kMiB, .busy_process_id = 99});
  Block* held = allocator.allocate(20 * kGiB, 0);
  Block* split = allocator.allocate(3 * kMiB / 2, 0);
  EXPECT_EQ(sentence_of_allocating(allocator, 4 * kGiB),
            "CUDA out of memory. Tried to allocate 4.00 GiB. GPU 3 has a total capacity of 24.00 GiB of which 2.49 GiB "
            "is free. Process 99 has 1024.00 MiB memory in use. Including non-PyTorch memory, this process has 20.51 "
            "GiB memory in use. Of the allocated memory 20.00 GiB is allocated by PyTorch, and 18.50 MiB is reserved "
            "by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
            "Management  "
            "(https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-"
            "conf)");
  EXPECT_EQ(allocator.stats().num_ooms, 1);
  EXPECT_EQ(allocator.stats().num_alloc_retries, 1);
  EXPECT_EQ(allocator.stats().allocation.all().current, 2) << "nothing was taken";
  allocator.free(held);
  allocator.free(split);
  Block* fits_now = allocator.allocate(4 * kGiB, 0);
  EXPECT_NE(fits_now, nullptr) << "the error leaves the allocator usable";
  allocator.free(fits_now);
}

TEST(OutOfMemoryOfAnAllocator, TriesTheSegmentNotTheRequest) {
  CachingAllocator allocator(0, {.total_bytes = 10 * kMiB});
  try {
    (void)allocator.allocate(3 * kMiB / 2, 0);
    FAIL() << "expected OutOfMemory, got a block";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.figures().requested, 3 * kMiB / 2);
    EXPECT_EQ(error.figures().tried, 20 * kMiB);
    EXPECT_EQ(error.figures().device_free, 10 * kMiB);
    EXPECT_EQ(error.figures().device_total, 10 * kMiB);
    EXPECT_FALSE(error.figures().allowed.has_value());
  }
}

TEST(OutOfMemoryOfAnAllocator, RefusesAnExabyteAtOnce) {
  CachingAllocator allocator(0, {.total_bytes = kGiB});
  EXPECT_EQ(sentence_of_allocating(allocator, std::size_t{1} << 60),
            "CUDA out of memory. Tried to allocate more than 1EB memory.");
  EXPECT_EQ(allocator.stats().num_ooms, 0);
}

TEST(OutOfMemoryOfAnAllocator, ComesFromFragmentationToo) {
  CachingAllocator allocator(0, {.total_bytes = 100 * kMiB});
  std::vector<Block*> blocks;
  for (int i = 0; i < 10; ++i) {
    blocks.push_back(allocator.allocate(10 * kMiB, 0));
  }
  for (std::size_t i = 0; i < blocks.size(); i += 2) {
    allocator.free(blocks[i]);
  }
  Block* fits = allocator.allocate(50 * kMiB, 0);
  EXPECT_NE(fits, nullptr) << "whole free segments go back to the device and make room";
  EXPECT_EQ(allocator.stats().num_alloc_retries, 1);
}

TEST(MemoryFraction, CapsWhatIsReserved) {
  CachingAllocator allocator(0, {.total_bytes = kGiB, .context_bytes = 24 * kMiB});
  EXPECT_EQ(allocator.memory_fraction(), 1.0);
  allocator.set_memory_fraction(0.5);
  EXPECT_EQ(allocator.memory_fraction(), 0.5);
  Block* half = allocator.allocate(512 * kMiB, 0);
  const std::string sentence = sentence_of_allocating(allocator, 2 * kMiB);
  EXPECT_NE(sentence.find("of which 488.00 MiB is free. Including non-PyTorch memory, this process has 536.00 MiB "
                          "memory in use. 512.00 MiB allowed; Of the allocated memory 512.00 MiB is allocated"),
            std::string::npos)
      << sentence;
  allocator.set_memory_fraction(1.0);
  EXPECT_EQ(sentence_of_allocating(allocator, 2 * kMiB), "allocated");
  EXPECT_EQ(sentence_of_allocating(allocator, kGiB).find("allowed;"), std::string::npos) << "1 is no cap";
  allocator.free(half);
}

TEST(MemoryFraction, IsCountedInWholeBytesAsTheReleaseDoes) {
  // 0.9 of 512 MiB is 483183820.8 bytes: rounded from 2.13 on, cut off before.
  CachingAllocator rounded(0, {.total_bytes = 512 * kMiB}, {}, {2, 13});
  rounded.set_memory_fraction(0.9);
  EXPECT_EQ(rounded.memory_fraction(), 483183821.0 / 536870912.0);
  CachingAllocator cut(0, {.total_bytes = 512 * kMiB}, {}, {2, 12});
  cut.set_memory_fraction(0.9);
  EXPECT_EQ(cut.memory_fraction(), 483183820.0 / 536870912.0);
}

TEST(MemoryFraction, RefusesWhatIsNoFraction) {
  CachingAllocator allocator(0, {.total_bytes = kGiB});
  EXPECT_THROW(allocator.set_memory_fraction(1.5), std::invalid_argument);
  EXPECT_THROW(allocator.set_memory_fraction(-0.1), std::invalid_argument);
}

TEST(MemoryFraction, ComesFromTheSettingsToo) {
  CachingAllocator allocator(0, {.total_bytes = kGiB}, Settings::parse("per_process_memory_fraction:0.25"));
  EXPECT_EQ(allocator.memory_fraction(), 0.25);
}

TEST(MaxSplitSize, LeavesOversizeBlocksWhole) {
  CachingAllocator allocator(0, {.total_bytes = kGiB}, Settings::parse("max_split_size_mb:64"));
  Block* oversize = allocator.allocate(100 * kMiB, 0);
  EXPECT_EQ(allocator.stats().oversize_segments.current, 1);
  EXPECT_EQ(allocator.stats().oversize_allocations.current, 1);
  allocator.free(oversize);
  EXPECT_EQ(allocator.stats().oversize_allocations.current, 0);
  Block* small_request = allocator.allocate(30 * kMiB, 0);
  EXPECT_EQ(allocator.stats().reserved_bytes.all().current, static_cast<std::int64_t>(130 * kMiB))
      << "an oversize block does not serve a request below the limit";
  Block* about_as_large = allocator.allocate(90 * kMiB, 0);
  EXPECT_EQ(about_as_large->size, 100 * kMiB) << "within 20 MiB of the request: taken whole";
  allocator.free(about_as_large);
  Block* much_smaller = allocator.allocate(70 * kMiB, 0);
  EXPECT_EQ(much_smaller->size, 70 * kMiB) << "30 MiB larger than the request: not taken";
  EXPECT_EQ(allocator.stats().reserved_bytes.all().current, static_cast<std::int64_t>(200 * kMiB));
  allocator.free(small_request);
  allocator.free(much_smaller);
}

TEST(MaxSplitSize, ReleasesOversizeBlocksBeforeTheWholeCache) {
  CachingAllocator allocator(0, {.total_bytes = kGiB}, Settings::parse("max_split_size_mb:64"));
  Block* cached_small = allocator.allocate(30 * kMiB, 0);
  Block* first = allocator.allocate(400 * kMiB, 0);
  Block* second = allocator.allocate(500 * kMiB, 0);
  allocator.free(cached_small);
  allocator.free(first);
  allocator.free(second);
  Block* needs_both = allocator.allocate(850 * kMiB, 0);
  EXPECT_EQ(allocator.stats().num_alloc_retries, 0) << "releasing the oversize blocks was enough";
  EXPECT_EQ(allocator.stats().num_device_free, 2);
  EXPECT_EQ(allocator.stats().reserved_bytes.all().current, static_cast<std::int64_t>(880 * kMiB));
  allocator.free(needs_both);
}

TEST(GarbageCollection, ReleasesOldSegmentsAboveTheThreshold) {
  CachingAllocator allocator(0, {.total_bytes = kGiB}, Settings::parse("garbage_collection_threshold:0.5"));
  allocator.set_memory_fraction(0.999);         // without a cap torch collects nothing
  allocator.free(allocator.allocate(1024, 0));  // so that the small pool needs no segment later
  Block* old = allocator.allocate(300 * kMiB, 0);
  Block* young = allocator.allocate(250 * kMiB, 0);
  allocator.free(old);
  for (int i = 0; i < 5; ++i) {
    allocator.free(allocator.allocate(1024, 0));  // of the small pool: does not age large blocks
  }
  allocator.free(young);
  allocator.free(allocator.allocate(260 * kMiB, 0));  // takes `old` again: a search that ages `young`
  Block* next = allocator.allocate(400 * kMiB, 0);
  const Stats stats = allocator.stats();
  EXPECT_EQ(stats.num_device_free, 1) << "550 MiB reserved, 512 MiB is the threshold: the oldest block goes";
  EXPECT_EQ(stats.num_alloc_retries, 0);
  EXPECT_EQ(stats.reserved_bytes.all().current, static_cast<std::int64_t>((300 + 400 + 2) * kMiB));
  allocator.free(next);
}

TEST(RoundupDivisions, EnlargeBlocks) {
  CachingAllocator allocator(0, {.total_bytes = kGiB}, Settings::parse("roundup_power2_divisions:4"));
  Block* block = allocator.allocate(33 * kMiB, 0);
  EXPECT_EQ(block->size, 40 * kMiB);
  EXPECT_EQ(block->requested_size, 33 * kMiB);
  allocator.free(block);
}

TEST(LargeSegmentSize, IsSettable) {
  CachingAllocator allocator(0, {.total_bytes = kGiB}, Settings::parse("large_segment_size_mb:64"));
  allocator.free(allocator.allocate(2 * kMiB, 0));
  EXPECT_EQ(allocator.stats().reserved_bytes.all().current, static_cast<std::int64_t>(64 * kMiB));
}

}  // namespace
}  // namespace devsan::memory
