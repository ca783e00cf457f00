#include "record/stack_depot.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace devsan::record {
namespace {

constexpr std::size_t kCodeBytes = 1000;
int g_kept = 0;
std::size_t count_kept(const void* /*code*/) {
  ++g_kept;
  return kCodeBytes;
}

const std::array<int, 3> kCodes{};

std::vector<Frame> stack_of(std::initializer_list<std::int32_t> offsets, std::size_t code = 0) {
  std::vector<Frame> frames;
  for (const std::int32_t offset : offsets) frames.push_back({&kCodes.at(code), offset});
  return frames;
}

TEST(StackDepotTest, AStackIsKeptOnceWithItsCode) {
  StackDepot depot;
  g_kept = 0;
  const StackId first = depot.put(stack_of({2, 4, 6}), &count_kept);
  EXPECT_EQ(depot.put(stack_of({2, 4, 6}), &count_kept), first);
  EXPECT_EQ(depot.find(stack_of({2, 4, 6})), first);
  EXPECT_EQ(g_kept, 1) << "one code object runs in all its frames";
  EXPECT_EQ(depot.size(), 1U);
  EXPECT_EQ(depot.get(first), stack_of({2, 4, 6}));
}

TEST(StackDepotTest, StacksDifferByOrderAndDepth) {
  StackDepot depot;
  const StackId stack = depot.put(stack_of({2, 4}), &count_kept);
  EXPECT_NE(depot.put(stack_of({4, 2}), &count_kept), stack);
  EXPECT_NE(depot.put(stack_of({2}), &count_kept), stack);
  EXPECT_NE(depot.put(stack_of({2, 4, 4}), &count_kept), stack);
  EXPECT_EQ(depot.size(), 4U);
}

TEST(StackDepotTest, NothingStandsForNoStack) {
  StackDepot depot;
  EXPECT_EQ(depot.put({}, &count_kept), kNoStack);
  EXPECT_EQ(depot.find(stack_of({3})), kNoStack);
  EXPECT_TRUE(depot.get(kNoStack).empty());
  EXPECT_TRUE(depot.get(17).empty());
}

TEST(StackDepotTest, CodeIsCountedOnceAndGivenBackWithItsLastStack) {
  StackDepot depot;
  const StackId first = depot.put(stack_of({1}, 1), &count_kept);
  const std::size_t with_one = depot.bytes();
  EXPECT_GE(with_one, kCodeBytes);
  const StackId second = depot.put(stack_of({2}, 1), &count_kept);
  EXPECT_LT(depot.bytes(), with_one + kCodeBytes);
  for (const StackId id : {first, first, second}) depot.refer(id);
  std::vector<const void*> unneeded;
  depot.drop(first, unneeded);
  EXPECT_FALSE(depot.get(first).empty()) << "somebody refers to it still";
  depot.drop(first, unneeded);
  EXPECT_TRUE(depot.get(first).empty());
  EXPECT_TRUE(unneeded.empty()) << "another stack needs the code";
  depot.drop(second, unneeded);
  EXPECT_EQ(unneeded, std::vector<const void*>{&kCodes[1]});
  EXPECT_EQ(depot.bytes(), 0U);
  EXPECT_EQ(depot.size(), 0U);
}

TEST(StackDepotTest, ANumberIsNeverGivenOutTwice) {
  StackDepot depot;
  const StackId first = depot.put(stack_of({1}), &count_kept);
  depot.refer(first);
  std::vector<const void*> unneeded;
  depot.drop(first, unneeded);
  EXPECT_NE(depot.put(stack_of({1}), &count_kept), first);
  EXPECT_TRUE(depot.get(first).empty());
}

}  // namespace
}  // namespace devsan::record
