#include "order/clocks.h"

#include <gtest/gtest.h>

namespace devsan::order {
namespace {

constexpr Lane kCompute{0, 1};
constexpr Lane kCopies{0, 2};
constexpr Lane kElsewhere{1, 1};

class ClocksTest : public ::testing::Test {
 protected:
  bool host_knows(Lane lane, Time moment) {
    const std::size_t timeline = clocks.timeline_of(lane);
    return clocks.mark(kHost).at(timeline) >= moment;
  }

  Clocks clocks;
};

TEST_F(ClocksTest, TheHostKnowsWhatItHasWaitedFor) {
  const Time first = clocks.begin(kCompute);
  const VectorClock event = clocks.mark(kCompute);
  const Time second = clocks.begin(kCompute);
  EXPECT_FALSE(host_knows(kCompute, first));
  clocks.wait(kHost, event);
  EXPECT_TRUE(host_knows(kCompute, first));
  EXPECT_FALSE(host_knows(kCompute, second)) << "it began behind the event";
}

TEST_F(ClocksTest, WhatAStreamHasWaitedForIsKnownWithIt) {
  const Time copy = clocks.begin(kCopies);
  clocks.wait(kCompute, clocks.mark(kCopies));
  clocks.wait(kHost, clocks.mark(kCompute));
  EXPECT_TRUE(host_knows(kCopies, copy));
}

TEST_F(ClocksTest, AStreamBeginsBehindWhatTheHostKnows) {
  const Time copy = clocks.begin(kCopies);
  clocks.wait(kHost, clocks.mark(kCopies));
  clocks.begin(kCompute);
  EXPECT_GE(clocks.mark(kCompute).at(clocks.timeline_of(kCopies)), copy);
}

TEST_F(ClocksTest, WaitingForAGpuIsWaitingForItsStreamsAlone) {
  const Time compute = clocks.begin(kCompute);
  const Time copy = clocks.begin(kCopies);
  const Time elsewhere = clocks.begin(kElsewhere);
  clocks.wait_for_device(0);
  EXPECT_TRUE(host_knows(kCompute, compute) && host_knows(kCopies, copy));
  EXPECT_FALSE(host_knows(kElsewhere, elsewhere));
}

}  // namespace
}  // namespace devsan::order
