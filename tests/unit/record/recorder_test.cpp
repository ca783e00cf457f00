#include "record/recorder.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "record/live_origins.h"

namespace devsan::record {
namespace {

thread_local std::int32_t t_line = 0;
thread_local const void* t_code = nullptr;

/// A program of one frame that stands at t_line.
void with_stack(const Callbacks::UseStack& use) {
  static const int code = 0;
  const std::array<Frame, 1> frames{Frame{t_code != nullptr ? t_code : &code, t_line}};
  use(frames);
}

constexpr std::size_t kCodeBytes = 3000;
std::atomic<int> g_codes{0};
std::size_t keep(const void* /*code*/) {
  ++g_codes;
  return kCodeBytes;
}
void release(std::span<const void* const> codes) { g_codes -= static_cast<int>(codes.size()); }

/// What memory of GPUs carries, of all threads.
std::mutex g_living_mutex;
std::set<PlacementId> g_living;
void collect_live(std::vector<PlacementId>& live) {
  const std::lock_guard lock(g_living_mutex);
  live.insert(live.end(), g_living.begin(), g_living.end());
}

constexpr std::size_t kBudget = std::size_t{2} << 20;

class RecorderTest : public testing::Test {
 protected:
  RecorderTest() { recorder.start({&with_stack, &keep, &release, &collect_live}); }
  ~RecorderTest() override {
    recorder.stop();
    g_living.clear();
    t_code = nullptr;
  }

  /// From here on with little room, and without what other tests have left.
  void restrict() { recorder.start({&with_stack, &keep, &release, &collect_live}, kBudget); }

  /// A tensor that new code places.
  PlacementId made_by_new_code(std::int8_t device) {
    static std::atomic<std::uintptr_t> next{1U << 20U};
    t_code = reinterpret_cast<const void*>(next.fetch_add(16));  // NOLINT(performance-no-int-to-ptr): a name
    const PlacementId made = made_at(1, device);
    t_code = nullptr;
    return made;
  }

  PlacementId made_at(std::int32_t line, std::int8_t device) {
    t_line = line;
    return recorder.note({PlacementKind::kMade, device, kHost, empty});
  }

  Recorder& recorder = Recorder::instance();
  OperatorId empty = recorder.intern("aten::empty");
  OperatorId copy = recorder.intern("aten::copy_");
};

TEST_F(RecorderTest, AStatementThatRunsAgainIsOnePlacement) {
  const PlacementId first = made_at(10, 1);
  EXPECT_EQ(made_at(10, 1), first);
  EXPECT_NE(made_at(10, 2), first);
  EXPECT_NE(made_at(11, 1), first);
  const auto record = recorder.find(first);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->times, 2U);
  EXPECT_EQ(recorder.stack(record->placement.stack).front().offset, 10);
}

TEST_F(RecorderTest, ACopyFromAnotherDeviceIsAMove) {
  const PlacementId source = made_at(20, 0);
  const PlacementId target = made_at(21, 3);
  const PlacementId moved = recorder.note_filled(target, copy, 0, source, 16);
  const auto record = recorder.find(moved);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->placement.kind, PlacementKind::kMoved);
  EXPECT_EQ(record->placement.device, 3);
  EXPECT_EQ(record->placement.from, 0);
  EXPECT_EQ(record->placement.source, source);
  EXPECT_EQ(record->bytes, 16U);
  EXPECT_EQ(recorder.stack(record->placement.stack).front().offset, 21);
  EXPECT_EQ(recorder.find(target)->times, 0U) << "it was not made there after all";
}

TEST_F(RecorderTest, OnlyTheFirstCopyIntoAFreshTensorPlacesIt) {
  const PlacementId source = made_at(30, 0);
  const PlacementId target = made_at(31, 1);
  const PlacementId other = made_at(32, 1);
  EXPECT_EQ(recorder.note_filled(target, copy, 0, source, 16), target) << "something else was made since";
  const PlacementId moved = recorder.note_filled(other, copy, 0, source, 16);
  EXPECT_NE(moved, other);
  EXPECT_EQ(recorder.note_filled(moved, copy, 0, source, 16), moved);
}

TEST_F(RecorderTest, ALaterStatementThatFillsATensorDoesNotPlaceIt) {
  const PlacementId source = made_at(60, 0);
  const PlacementId target = made_at(61, 1);
  t_line = 62;
  EXPECT_EQ(recorder.note_filled(target, copy, 0, source, 16), target);
}

TEST_F(RecorderTest, ACopyOnTheSameDeviceHasThePlacementOfWhatItCopies) {
  const PlacementId source = made_at(70, 2);
  const PlacementId clone = made_at(71, 2);
  EXPECT_EQ(recorder.note_filled(clone, copy, 2, source, 16), source);
  EXPECT_EQ(recorder.find(clone)->times, 0U);
  const PlacementId other = made_at(72, 2);
  EXPECT_EQ(recorder.note_filled(other, copy, 2, kUnknownPlacement, 16), other);
}

TEST_F(RecorderTest, BackAndForthDoesNotMakeAnEverLongerHistory) {
  PlacementId placement = made_at(40, 0);
  std::size_t after_first_round = 0;
  for (int round = 0; round < 100; ++round) {
    placement = recorder.note_filled(made_at(41, 1), copy, 0, placement, 16);
    placement = recorder.note_filled(made_at(42, 0), copy, 1, placement, 16);
    if (round == 0) after_first_round = recorder.placement_count();
  }
  EXPECT_EQ(recorder.placement_count(), after_first_round);
}

TEST_F(RecorderTest, OffMeansNothingIsNoted) {
  recorder.stop();
  const std::size_t before = recorder.placement_count();
  EXPECT_EQ(made_at(50, 1), kUnknownPlacement);
  EXPECT_EQ(recorder.placement_count(), before);
  EXPECT_FALSE(recorder.find(kUnknownPlacement).has_value());
}

TEST_F(RecorderTest, NamesAreNumberedOnce) {
  EXPECT_EQ(recorder.intern("aten::empty"), empty);
  EXPECT_NE(copy, empty);
  EXPECT_EQ(recorder.operator_name(copy), "aten::copy_");
  EXPECT_EQ(recorder.operator_name(kNoOperator), "");
}

TEST_F(RecorderTest, CodeWithoutEndStaysWithinTheBudgetAndLivingTensorsKeepTheirPlacements) {
  restrict();
  const PlacementId source = made_at(80, 0);
  const PlacementId moved = recorder.note_filled(made_at(81, 1), copy, 0, source, 16);
  g_living.insert(moved);
  const PlacementId dead = made_by_new_code(0);
  for (int statement = 0; statement < 5000; ++statement) {
    made_by_new_code(0);
    ASSERT_LE(recorder.bytes(), kBudget + 2 * kCodeBytes);
  }
  EXPECT_LE(g_codes * kCodeBytes, kBudget);
  EXPECT_FALSE(recorder.find(dead).has_value());
  ASSERT_TRUE(recorder.find(moved).has_value());
  EXPECT_EQ(recorder.stack(recorder.find(moved)->placement.stack).front().offset, 81);
  EXPECT_TRUE(recorder.find(source).has_value()) << "its history belongs to it";
}

TEST_F(RecorderTest, WhatWasUsedLastIsDroppedLast) {
  restrict();
  const PlacementId loop = made_at(90, 0);
  for (int statement = 0; statement < 5000; ++statement) {
    made_by_new_code(0);
    ASSERT_EQ(made_at(90, 0), loop) << "a statement that runs all the time";
  }
}

TEST_F(RecorderTest, WhereLivingTensorsTakeItAllNewPlacementsAreDropped) {
  restrict();
  std::size_t kept = 0;
  for (int statement = 0; statement < 3000; ++statement) {
    const PlacementId made = made_by_new_code(0);
    if (made != kDroppedPlacement) {
      g_living.insert(made);
      ++kept;
    }
  }
  EXPECT_LT(kept, 3000U);
  EXPECT_LE(recorder.bytes(), kBudget + 2 * kCodeBytes);
  EXPECT_EQ(made_by_new_code(0), kDroppedPlacement);
  EXPECT_FALSE(recorder.find(kDroppedPlacement).has_value());
  for (const PlacementId id : g_living) ASSERT_TRUE(recorder.find(id).has_value());
  g_living.clear();
  std::size_t tries = 0;
  while (made_by_new_code(0) == kDroppedPlacement && tries < 1000) ++tries;
  EXPECT_LT(tries, 1000U) << "room that is free again is found";
}

TEST_F(RecorderTest, MemoryOfTheHostCounts) {
  restrict();
  CarriedOrigin carried{{made_by_new_code(kHost), kNoOperator}};
  LiveOrigins::instance().enter(carried);
  for (int statement = 0; statement < 5000; ++statement) made_by_new_code(0);
  EXPECT_TRUE(recorder.find(carried.origin.placement).has_value());
  LiveOrigins::instance().leave(carried);
  for (int statement = 0; statement < 5000; ++statement) made_by_new_code(0);
  EXPECT_FALSE(recorder.find(carried.origin.placement).has_value());
}

TEST_F(RecorderTest, AHistoryWithoutEndIsCutAtItsFarEnd) {
  restrict();
  PlacementId last = made_by_new_code(0);
  for (int move = 0; move < 3000; ++move) {
    static std::array<int, 3000> codes{};
    t_code = &codes.at(static_cast<std::size_t>(move));
    const auto to = static_cast<std::int8_t>((move + 1) % 2);
    const PlacementId next = recorder.note_filled(made_at(1, to), copy, static_cast<std::int8_t>(move % 2), last, 16);
    ASSERT_NE(next, kDroppedPlacement);
    g_living = {last = next};
  }
  std::size_t length = 0;
  for (auto record = recorder.find(last); record.has_value(); record = recorder.find(record->placement.source))
    ++length;
  EXPECT_GE(length, static_cast<std::size_t>(PlacementTable::kDeepest));
  EXPECT_LT(length, 3000U);
}

TEST_F(RecorderTest, ThreadsThatPlaceAndLetGoNeverLoseALivingTensor) {
  restrict();
  std::atomic<int> lost{0};
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        std::deque<PlacementId> mine;
        for (int statement = 0; statement < 3000; ++statement) {
          const PlacementId made = made_by_new_code(0);
          {
            const std::lock_guard lock(g_living_mutex);
            g_living.insert(made);
          }
          mine.push_back(made);
          if (mine.size() <= 20) continue;
          if (!recorder.find(mine.front()).has_value()) ++lost;
          const std::lock_guard lock(g_living_mutex);
          g_living.erase(mine.front());
          mine.pop_front();
        }
      });
    }
  }
  EXPECT_EQ(lost, 0);
  EXPECT_LE(recorder.bytes(), kBudget + 8 * kCodeBytes);
}

}  // namespace
}  // namespace devsan::record
