#include "collectives/traffic.h"

#include <gtest/gtest.h>

#include <ATen/Functions.h>

namespace devsan::collectives {
namespace {

using c10d::OpType;

constexpr int kRanks = 4;
constexpr std::int64_t kElements = 1000;

/// Of a call whose rank gives 4,000 bytes.
std::int64_t sent_for(OpType op, int rank = 1, int peer = 0) {
  Call call;
  call.op = op;
  call.elements_in = call.elements_out = kElements;
  call.outputs = {at::zeros({kElements})};
  call.peer = peer;
  return bytes_sent_for(call, rank, kRanks);
}

TEST(Traffic, IsThatOfARing) {
  EXPECT_EQ(sent_for(OpType::ALLREDUCE), 6000);
  EXPECT_EQ(sent_for(OpType::_REDUCE_SCATTER_BASE), 3000);
  EXPECT_EQ(sent_for(OpType::_ALLGATHER_BASE), 12000);
  EXPECT_EQ(sent_for(OpType::BROADCAST), 3000);
  EXPECT_EQ(sent_for(OpType::ALLTOALL_BASE), 3000);
}

TEST(Traffic, OneSideSends) {
  EXPECT_EQ(sent_for(OpType::SEND), 4000);
  EXPECT_EQ(sent_for(OpType::RECV), 0);
  EXPECT_EQ(sent_for(OpType::GATHER), 4000);
  EXPECT_EQ(sent_for(OpType::GATHER, 0), 0) << "the root";
  EXPECT_EQ(sent_for(OpType::SCATTER), 0);
  EXPECT_EQ(sent_for(OpType::SCATTER, 0), 3000);
}

TEST(Traffic, AloneNothingIsSent) {
  Call call;
  call.op = OpType::ALLREDUCE;
  call.elements_in = kElements;
  call.outputs = {at::zeros({kElements})};
  EXPECT_EQ(bytes_sent_for(call, 0, 1), 0);
}

}  // namespace
}  // namespace devsan::collectives
