#include "record/recorder.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace devsan::record {
namespace {

std::int32_t g_line = 0;

/// A program of one frame that stands at g_line.
StackId capture(StackDepot& depot) {
  static const int code = 0;
  const std::array<Frame, 1> frames{Frame{&code, g_line}};
  return depot.put(frames, [](const void*) {});
}

class RecorderTest : public testing::Test {
 protected:
  RecorderTest() { recorder.start(&capture); }
  ~RecorderTest() override { recorder.stop(); }

  PlacementId made_at(std::int32_t line, std::int8_t device) {
    g_line = line;
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
  g_line = 62;
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

TEST(PlacementTableTest, AFullTableSaysThatItDoesNotKnow) {
  PlacementTable table(2);
  const PlacementId first = table.add({PlacementKind::kMade, 0, kHost, 1, 1, 0}, 8);
  EXPECT_NE(table.add({PlacementKind::kMade, 0, kHost, 1, 2, 0}, 8), kUnknownPlacement);
  EXPECT_EQ(table.add({PlacementKind::kMade, 0, kHost, 1, 3, 0}, 8), kUnknownPlacement);
  EXPECT_EQ(table.add({PlacementKind::kMade, 0, kHost, 1, 1, 0}, 8), first);
  EXPECT_EQ(table.find(first)->times, 2U);
}

}  // namespace
}  // namespace devsan::record
