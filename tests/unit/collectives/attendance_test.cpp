#include "collectives/attendance.h"

#include <gtest/gtest.h>

namespace devsan::collectives {
namespace {

/// Ranks 1, 4 and 6 of eight run, until the end of a test.
class AttendanceTest : public testing::Test {
 protected:
  void SetUp() override { set_sample({1, 4, 6}, 8); }
  void TearDown() override { set_sample({}, 0); }
};

using Ranks = std::vector<int>;

TEST_F(AttendanceTest, OfAllRanks) {
  const Attendance all(8, {});
  EXPECT_EQ(all.present(), (Ranks{1, 4, 6}));
  EXPECT_FALSE(all.is_full());
  Ranks stand_ins;
  for (int rank = 0; rank < 8; ++rank) stand_ins.push_back(all.stand_in(rank));
  EXPECT_EQ(stand_ins, (Ranks{1, 1, 1, 1, 4, 4, 6, 6}));
  EXPECT_EQ(all.weight(1), 4);
  EXPECT_EQ(all.weight(4), 2);
  EXPECT_EQ(all.weight(6), 2);
}

TEST_F(AttendanceTest, OfAGroupInItsOwnOrder) {
  const Attendance group(3, {6, 7, 4});
  EXPECT_EQ(group.present(), (Ranks{0, 2}));
  EXPECT_EQ(group.stand_in(1), 0);
  EXPECT_EQ(group.place(2), 1);
  EXPECT_EQ(group.weight(0), 2);
}

TEST_F(AttendanceTest, OfAGroupThatRunsAsAWhole) {
  EXPECT_TRUE(Attendance(2, {4, 6}).is_full());
  EXPECT_TRUE(Attendance(3, {}).is_full()) << "made by hand: nobody says which ranks it has";
}

TEST_F(AttendanceTest, WithoutASample) {
  set_sample({}, 0);
  const Attendance all(3, {});
  EXPECT_TRUE(all.is_full());
  EXPECT_EQ(all.present(), (Ranks{0, 1, 2}));
  EXPECT_EQ(all.weight(2), 1);
}

TEST(GlobalRanks, OfAGroup) {
  EXPECT_EQ(global_ranks_of({1, 2}, {}), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(global_ranks_of({1, 2}, {4, 5, 7}), (std::vector<std::uint64_t>{5, 7}));
}

}  // namespace
}  // namespace devsan::collectives
