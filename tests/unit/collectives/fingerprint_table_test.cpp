#include "collectives/fingerprint_table.h"

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace devsan::collectives {
namespace {

CollectiveFingerprint call(std::uint64_t number, std::int64_t bytes) {
  CollectiveFingerprint made;
  made.number = number;
  made.bytes = bytes;
  made.route = 1;
  return made;
}

class FingerprintTableTest : public ::testing::Test {
 protected:
  std::unique_ptr<FingerprintTable> first_ = FingerprintTable::make(3);
  std::unique_ptr<FingerprintTable> second_ = FingerprintTable::open(first_->place(), 3);
};

TEST_F(FingerprintTableTest, ARankSeesWhatAnotherWrites) {
  ASSERT_NE(second_, nullptr);
  EXPECT_FALSE(second_->read(0, 1).has_value());
  first_->write(0, call(1, 40));
  EXPECT_EQ(second_->read(0, 1)->bytes, 40);
  EXPECT_FALSE(second_->read(1, 1).has_value());
  EXPECT_FALSE(second_->read(0, 2).has_value());
}

TEST_F(FingerprintTableTest, OnlyTheSameCallCanDiffer) {
  first_->write(0, call(1, 40));
  EXPECT_FALSE(second_->differs(0, call(1, 40)));
  EXPECT_TRUE(second_->differs(0, call(1, 44)));
  EXPECT_FALSE(second_->differs(0, call(2, 44)));
  CollectiveFingerprint other_root = call(1, 40);
  other_root.root = 2;
  EXPECT_TRUE(second_->differs(0, other_root));
  first_->erase(0, 1);
  EXPECT_FALSE(second_->differs(0, call(1, 44)));
}

TEST_F(FingerprintTableTest, APlaceThatWasTakenSaysNothing) {
  first_->write(0, call(1, 40));
  first_->write(0, call(1 + kTableCalls, 44));
  EXPECT_FALSE(second_->read(0, 1).has_value());
  EXPECT_FALSE(second_->differs(0, call(1, 44)));
  EXPECT_TRUE(second_->differs(0, call(1 + kTableCalls, 40)));
}

TEST_F(FingerprintTableTest, SharesAreThoseOfOneRankForEachOther) {
  first_->write_shares(2, 7, {4, 8, 12}, {1, 2, 3});
  EXPECT_EQ(second_->read_share(2, 7, 1), std::make_pair(std::int64_t{8}, std::int64_t{2}));
  EXPECT_FALSE(second_->read_share(2, 6, 1).has_value());
  EXPECT_FALSE(second_->read_share(1, 7, 1).has_value());
}

TEST_F(FingerprintTableTest, MessagesHaveTwoSides) {
  const TableMessage message{0, 2, 5};
  first_->write_message(message, true, 40);
  EXPECT_EQ(second_->read_message(message, true), 40);
  EXPECT_FALSE(second_->read_message(message, false).has_value());
  EXPECT_FALSE(second_->read_message({2, 0, 5}, true).has_value());
}

TEST_F(FingerprintTableTest, TheFirstRefusedCallCounts) {
  EXPECT_EQ(second_->refused_call(), 0U);
  first_->refuse(9);
  second_->refuse(7);
  first_->refuse(8);
  EXPECT_EQ(first_->refused_call(), 7U);
  EXPECT_FALSE(first_->refused_message().has_value());
  second_->refuse(TableMessage{1, 2, 300});
  EXPECT_EQ(first_->refused_message()->from, 1);
  EXPECT_EQ(first_->refused_message()->to, 2);
  EXPECT_EQ(first_->refused_message()->number, 300U);
}

TEST_F(FingerprintTableTest, AnotherProcessOpensIt) {
  const pid_t child = fork();
  if (child == 0) {
    const auto table = FingerprintTable::open(first_->place(), 3);
    if (table == nullptr) _exit(1);
    table->write(1, call(4, 16));
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(first_->differs(1, call(4, 20)));
}

TEST_F(FingerprintTableTest, WhatIsNoTableIsNotOpened) {
  EXPECT_EQ(FingerprintTable::open({getpid(), 0, 1}, 3), nullptr);   // a descriptor of something else
  EXPECT_EQ(FingerprintTable::open({getpid(), -1, 1}, 3), nullptr);  // none was made
  EXPECT_EQ(FingerprintTable::open({getpid(), first_->place().descriptor, 1}, 3), nullptr);  // another table
  EXPECT_EQ(FingerprintTable::open(first_->place(), 4), nullptr);                            // of another group
}

}  // namespace
}  // namespace devsan::collectives
