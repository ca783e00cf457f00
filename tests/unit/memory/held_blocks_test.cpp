#include "memory/held_blocks.h"

#include <gtest/gtest.h>

#include "memory/caching_allocator.h"

namespace devsan::memory {
namespace {

using model::HolderKind;

constexpr std::size_t kMiB = std::size_t{1} << 20U;

std::uint64_t sum(const std::vector<model::MemoryPart>& parts) {
  std::uint64_t bytes = 0;
  for (const auto& part : parts) bytes += part.bytes;
  return bytes;
}

TEST(HeldBlocks, EachBlockCountsOnceForTheKindThatSaysMost) {
  const std::vector<HeldBlock> blocks = {{1, 100, "", 7, ""}, {2, 50, "aten::relu", 7, ""}};
  const std::vector<NamedBlock> names = {
      {1, HolderKind::kUnknown, "`weight`"}, {1, HolderKind::kParameter, "0.weight"}, {2, HolderKind::kUnknown, "`x`"}};
  const auto parts = parts_of(blocks, names, true);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].kind, HolderKind::kParameter);
  EXPECT_EQ(parts[0].largest.at(0).name, "0.weight");
  EXPECT_EQ(parts[1].kind, HolderKind::kActivation) << "a variable that holds a result";
  EXPECT_EQ(parts[1].largest.at(0).name, "`x`");
  EXPECT_EQ(sum(parts), 150U);
}

TEST(HeldBlocks, WithoutANameTheOriginDecides) {
  const std::vector<HeldBlock> blocks = {
      {1, 10, "aten::relu", 7, ""}, {2, 20, "aten::relu", 8, ""}, {3, 5, "", 9, ""}, {4, 1, "", 0, ""}};
  const auto parts = parts_of(blocks, {}, true);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].kind, HolderKind::kActivation);
  ASSERT_EQ(parts[0].largest.size(), 1U) << "one operator is one holder, whatever its operands were placed by";
  EXPECT_EQ(parts[0].largest[0].op, "aten::relu");
  EXPECT_EQ(parts[0].largest[0].tensors, 2U);
  EXPECT_EQ(parts[1].kind, HolderKind::kData);
  EXPECT_EQ(parts[1].largest.at(0).placement, 9U);
  EXPECT_EQ(parts[2].kind, HolderKind::kWorkspace);
  EXPECT_TRUE(parts[2].largest.empty());
  EXPECT_EQ(parts_of(blocks, {}, false).back().kind, HolderKind::kUnknown) << "nothing is recorded";
}

TEST(HeldBlocks, WhatCollectivesAreGivenAndWhatIsComputedForAMoment) {
  const std::vector<HeldBlock> blocks = {{1, 40, "", 7, "", false, Use::kCommunication},
                                         {2, 30, "aten::mm", 7, "mlp", false, Use::kCommunication},
                                         {3, 20, "aten::sqrt", 8, "", true},
                                         {4, 10, "aten::mm", 9, "mlp", true}};
  const auto parts = parts_of(blocks, {}, true);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].kind, HolderKind::kCommunication) << "a bucket, which no operator computed";
  EXPECT_EQ(parts[1].kind, HolderKind::kActivation) << "a result that is gathered is a result";
  EXPECT_EQ(parts[2].kind, HolderKind::kTemporary);
  EXPECT_EQ(parts[2].largest.at(0).op, "aten::sqrt");
  EXPECT_EQ(parts[2].largest.at(1).name, "mlp");
  const std::vector<NamedBlock> names = {{1, HolderKind::kGradient, "weight.grad"}};
  EXPECT_EQ(parts_of(blocks, names, true)[0].kind, HolderKind::kGradient) << "gradient_as_bucket_view";
}

TEST(HeldBlocks, WhatACacheKeepsIsOfThePartThatComputedIt) {
  const std::vector<HeldBlock> blocks = {{1, 40, "aten::cat", 7, "self_attn", false, Use::kCache},
                                         {2, 30, "aten::mm", 7, "self_attn", false}};
  const auto parts = parts_of(blocks, {}, true);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].kind, HolderKind::kCache);
  EXPECT_EQ(parts[0].largest.at(0).name, "self_attn");
  const std::vector<NamedBlock> names = {{1, HolderKind::kParameter, "prefix"}};
  EXPECT_EQ(parts_of(blocks, names, true)[0].kind, HolderKind::kParameter) << "a learned prefix";
}

TEST(HeldBlocks, BesideTensorsAProcessTakesWhatIsReservedAndTheContext) {
  const std::vector<HeldBlock> blocks = {{1, 40, "aten::mm", 7, ""}};
  auto parts = parts_of(blocks, {}, true);
  add_overhead(parts, 40, 60, 160);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].kind, HolderKind::kContext);
  EXPECT_EQ(parts[2].kind, HolderKind::kFragmentation);
  EXPECT_EQ(sum(parts), 160U);
}

TEST(HeldBlocks, AResultWithoutANameIsOfThePartThatComputedIt) {
  const std::vector<HeldBlock> blocks = {
      {1, 10, "aten::relu", 7, "mlp"}, {2, 20, "aten::mm", 7, "mlp"}, {3, 5, "aten::mm", 7, ""}, {4, 9, "", 7, "mlp"}};
  const std::vector<NamedBlock> names = {{2, HolderKind::kUnknown, "`x`"}};
  const auto parts = parts_of(blocks, names, true);
  ASSERT_EQ(parts.size(), 2U);
  ASSERT_EQ(parts[0].largest.size(), 3U);
  EXPECT_EQ(parts[0].largest[0].name, "`x`");
  EXPECT_EQ(parts[0].largest[1].name, "mlp");
  EXPECT_TRUE(parts[0].largest[1].op.empty());
  EXPECT_EQ(parts[0].largest[2].op, "aten::mm");
  EXPECT_EQ(parts[1].kind, HolderKind::kData) << "what was placed there is told by its line";
  EXPECT_EQ(parts[1].largest.at(0).placement, 7U);
}

TEST(HeldBlocks, TheLargestHoldersOfAKindAreKept) {
  std::vector<HeldBlock> blocks;
  std::vector<NamedBlock> names;
  for (Address each = 1; each <= 5; ++each) {
    blocks.push_back({each, each * 10, "", 1, ""});
    names.push_back({each, HolderKind::kBuffer, std::to_string(each)});
  }
  const auto parts = parts_of(blocks, names, true);
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].tensors, 5U);
  EXPECT_EQ(parts[0].bytes, 150U);
  ASSERT_EQ(parts[0].largest.size(), 3U);
  EXPECT_EQ(parts[0].largest[0].name, "5");
  EXPECT_EQ(parts[0].largest[2].name, "3");
}

TEST(HeldBlocks, AnAllocatorKeepsWhatItHeldWhenItHadNoRoom) {
  CachingAllocator allocator(1, {.total_bytes = 100 * kMiB, .busy_bytes = 10 * kMiB, .context_bytes = 2 * kMiB});
  EXPECT_EQ(allocator.last_exhaustion(), nullptr);
  Block* held = allocator.allocate(40 * kMiB, 0, 0, 17);
  Block* freed = allocator.allocate(30 * kMiB, 0, 0, 18);
  allocator.free(freed);
  EXPECT_EQ(allocator.room(), 48 * kMiB) << "the cache could be given back";
  EXPECT_THROW((void)allocator.allocate(60 * kMiB, 0), OutOfMemory);
  const auto exhaustion = allocator.last_exhaustion();
  allocator.free(held);
  ASSERT_NE(exhaustion, nullptr);
  ASSERT_EQ(exhaustion->held.size(), 1U);
  EXPECT_EQ(exhaustion->held[0].tag, 17U);
  EXPECT_EQ(exhaustion->held[0].size, 40 * kMiB);
  const model::HeldMemory figures = held_memory_of(exhaustion->figures);
  EXPECT_EQ(figures.device, model::Device("cuda:1"));
  EXPECT_EQ(figures.requested, 60 * kMiB);
  EXPECT_EQ(figures.others, 10 * kMiB);
  EXPECT_EQ(figures.free, 48 * kMiB) << "the cache was given back before";
  EXPECT_EQ(figures.allowed, 0U);
  allocator.set_memory_fraction(0.5);
  EXPECT_EQ(allocator.room(), 50 * kMiB);
}

}  // namespace
}  // namespace devsan::memory
