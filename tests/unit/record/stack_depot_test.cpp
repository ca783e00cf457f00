#include "record/stack_depot.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace devsan::record {
namespace {

int g_kept = 0;
void count_kept(const void* /*code*/) { ++g_kept; }

std::vector<Frame> stack_of(std::initializer_list<std::int32_t> offsets) {
  static const int code = 0;
  std::vector<Frame> frames;
  for (const std::int32_t offset : offsets) frames.push_back({&code, offset});
  return frames;
}

TEST(StackDepotTest, AStackIsKeptOnceWithItsCode) {
  StackDepot depot(1 << 20);
  g_kept = 0;
  const StackId first = depot.put(stack_of({2, 4, 6}), &count_kept);
  EXPECT_EQ(depot.put(stack_of({2, 4, 6}), &count_kept), first);
  EXPECT_EQ(g_kept, 3);
  EXPECT_EQ(depot.size(), 1U);
  EXPECT_EQ(depot.get(first), stack_of({2, 4, 6}));
}

TEST(StackDepotTest, StacksDifferByOrderAndDepth) {
  StackDepot depot(1 << 20);
  const StackId stack = depot.put(stack_of({2, 4}), &count_kept);
  EXPECT_NE(depot.put(stack_of({4, 2}), &count_kept), stack);
  EXPECT_NE(depot.put(stack_of({2}), &count_kept), stack);
  EXPECT_NE(depot.put(stack_of({2, 4, 4}), &count_kept), stack);
  EXPECT_EQ(depot.size(), 4U);
}

TEST(StackDepotTest, NothingStandsForNoStack) {
  StackDepot depot(1 << 20);
  EXPECT_EQ(depot.put({}, &count_kept), kNoStack);
  EXPECT_TRUE(depot.get(kNoStack).empty());
  EXPECT_TRUE(depot.get(17).empty());
}

TEST(StackDepotTest, AFullDepotKeepsWhatItHas) {
  StackDepot depot(3 * sizeof(Frame));
  const StackId kept = depot.put(stack_of({1, 2}), &count_kept);
  g_kept = 0;
  EXPECT_EQ(depot.put(stack_of({3, 4}), &count_kept), kNoStack);
  EXPECT_EQ(g_kept, 0) << "a stack that is not kept must not keep code alive";
  EXPECT_EQ(depot.put(stack_of({1, 2}), &count_kept), kept);
  EXPECT_NE(depot.put(stack_of({5}), &count_kept), kNoStack);
}

TEST(StackDepotTest, ThreadsThatBringTheSameStacksGetTheSameIds) {
  StackDepot depot(1 << 20);
  std::vector<std::vector<StackId>> ids(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : ids) {
      threads.emplace_back([&depot, &mine] {
        for (std::int32_t offset = 0; offset < 500; ++offset) {
          mine.push_back(depot.put(stack_of({offset, 7}), [](const void*) {}));
        }
      });
    }
  }
  for (const auto& others : ids) EXPECT_EQ(others, ids.front());
  EXPECT_EQ(depot.size(), 500U);
}

}  // namespace
}  // namespace devsan::record
