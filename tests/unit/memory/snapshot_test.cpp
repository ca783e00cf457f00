#include "memory/snapshot.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "memory/caching_allocator.h"

namespace devsan::memory {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kGiB = std::size_t{1} << 30;

TEST(Snapshot, ListsSegmentsAndBlocksByAddress) {
  CachingAllocator allocator(2, {.total_bytes = kGiB});
  Block* small = allocator.allocate(1000, 5, 41);
  Block* large = allocator.allocate(3 * kMiB, 5, 42);
  Block* gone = allocator.allocate(4 * kMiB, 5, 43);
  Block* behind = allocator.allocate(5 * kMiB, 5, 44);
  allocator.free(gone);

  const std::vector<Segment> segments = allocator.snapshot();
  ASSERT_EQ(segments.size(), 2U);
  EXPECT_LT(segments[0].address, segments[1].address);

  EXPECT_EQ(segments[0].type(), "small");
  EXPECT_EQ(segments[0].device, 2);
  EXPECT_EQ(segments[0].stream, 5U);
  EXPECT_EQ(segments[0].stack, 41U) << "who made the segment";
  EXPECT_EQ(segments[0].total_size, 2 * kMiB);
  EXPECT_EQ(segments[0].allocated_size, 1024U);
  EXPECT_EQ(segments[0].requested_size, 1000U);

  const Segment& second = segments[1];
  EXPECT_EQ(second.type(), "large");
  EXPECT_EQ(second.stack, 42U);
  EXPECT_EQ(second.total_size, 20 * kMiB);
  EXPECT_EQ(second.active_size, 8 * kMiB);
  ASSERT_EQ(second.blocks.size(), 4U);
  const std::vector<std::string> states = {"active_allocated", "inactive", "active_allocated", "inactive"};
  Address expected_address = second.address;
  for (std::size_t i = 0; i < states.size(); ++i) {
    EXPECT_EQ(name(second.blocks[i].state), states[i]) << i;
    EXPECT_EQ(second.blocks[i].address, expected_address) << i;
    expected_address += second.blocks[i].size;
  }
  EXPECT_EQ(second.blocks[0].stack, 42U);
  EXPECT_EQ(second.blocks[1].stack, 0U) << "an inactive block has no owner";
  EXPECT_EQ(second.blocks[2].stack, 44U);
  EXPECT_EQ(second.blocks[2].requested_size, 5 * kMiB);

  allocator.free(small);
  allocator.free(large);
  allocator.free(behind);
}

std::vector<std::string> actions(const CachingAllocator& allocator) {
  std::vector<std::string> names;
  for (const TraceEvent& event : allocator.trace()) {
    names.emplace_back(name(event.action));
  }
  return names;
}

TEST(History, NotesEventsInOrderWithTorchsNames) {
  CachingAllocator allocator(0, {.total_bytes = 100 * kMiB});
  allocator.free(allocator.allocate(1, 0));
  EXPECT_TRUE(allocator.trace().empty()) << "nothing is noted before it is asked for";
  allocator.empty_cache();

  allocator.record_history(true, 100);
  EXPECT_TRUE(allocator.is_history_recorded());
  Block* block = allocator.allocate(30 * kMiB, 9, 77);
  const Address address = block->address;
  allocator.record_stream(block, 1);
  allocator.free(block);
  EXPECT_THROW((void)allocator.allocate(200 * kMiB, 9), OutOfMemory);
  (void)allocator.snapshot();
  const std::vector<std::string> expected = {"segment_alloc", "alloc", "free_requested", "free_completed",
                                             "segment_free",  "oom",   "snapshot"};
  EXPECT_EQ(actions(allocator), expected);

  const auto events = allocator.trace();
  EXPECT_EQ(events[1].address, address);
  EXPECT_EQ(events[1].size, 30 * kMiB);
  EXPECT_EQ(events[1].stream, 9U);
  EXPECT_EQ(events[1].stack, 77U);
  EXPECT_GT(events[1].time_us, 1'600'000'000'000'000);
  EXPECT_EQ(events[5].address, 100 * kMiB) << "of an oom: the free bytes";

  allocator.record_history(false, 0);
  EXPECT_TRUE(allocator.trace().empty());
}

TEST(History, ExpandableSegmentsAreMappedAndUnmapped) {
  CachingAllocator allocator(0, {.total_bytes = kGiB}, Settings::parse("expandable_segments:True"));
  allocator.record_history(true, 100);
  allocator.free(allocator.allocate(30 * kMiB, 0));
  allocator.empty_cache();
  const std::vector<std::string> expected = {"segment_map", "alloc", "free_requested", "free_completed",
                                             "segment_unmap"};
  EXPECT_EQ(actions(allocator), expected);
}

TEST(History, KeepsTheLastEvents) {
  CachingAllocator allocator(0, {.total_bytes = kGiB});
  allocator.record_history(true, 3);
  allocator.free(allocator.allocate(1, 0));
  allocator.free(allocator.allocate(2, 0));
  const std::vector<std::string> expected = {"alloc", "free_requested", "free_completed"};
  EXPECT_EQ(actions(allocator), expected);
  EXPECT_EQ(allocator.trace()[0].size, 2U);
  allocator.record_history(true, 2);
  EXPECT_EQ(actions(allocator), std::vector<std::string>({"free_requested", "free_completed"}));
}

}  // namespace
}  // namespace devsan::memory
