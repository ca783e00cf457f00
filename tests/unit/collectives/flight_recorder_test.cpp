#include "collectives/flight_recorder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace devsan::collectives {
namespace {

class FlightRecorderTest : public ::testing::Test {
 protected:
  FlightRecorderTest()
      : path_(std::filesystem::temp_directory_path() / ("devsan-" + std::to_string(getpid()) + ".flight")) {}
  ~FlightRecorderTest() override { std::filesystem::remove(path_); }

  FlightRecorder make() const { return {path_, 1, 4}; }
  FlightRecording read() const { return read_flight_recorder(path_).value(); }

  std::string path_;
};

CallNote note(std::string_view name, std::uint64_t sequence) {
  static const std::int64_t shape[] = {2, 3};
  CallNote note;
  note.name = name;
  note.dtype = "float32";
  note.shape = shape;
  note.dims = 2;
  note.sequence = sequence;
  note.elements = 6;
  note.bytes = 24;
  note.device = 1;
  return note;
}

Group group_of_all() {
  Group group;
  group.name = "0";
  group.description = "default_pg";
  group.rank = 1;
  group.size = 4;
  group.attendance = Attendance(group.size, {});
  return group;
}

TEST_F(FlightRecorderTest, TellsWhatIsUnderWayAndWhatIsDone) {
  FlightRecorder recorder = make();
  const std::uint32_t group = recorder.add_group(group_of_all());
  CallNote first = note("all_reduce", 1);
  first.group = group;
  const CallToken done = recorder.begin(first);
  recorder.end(done, "");
  CallNote second = note("broadcast", 2);
  second.group = group;
  second.peer = 3;
  const CallToken running = recorder.begin(second);
  recorder.waiting(running, true);

  const FlightRecording read = this->read();
  EXPECT_EQ(read.process, getpid());
  EXPECT_EQ(read.rank, 1);
  EXPECT_EQ(read.world_size, 4);
  ASSERT_EQ(read.groups.size(), 1u);
  EXPECT_EQ(read.groups[0].name, "0");
  EXPECT_EQ(read.groups[0].ranks, (std::vector<int>{0, 1, 2, 3}));
  ASSERT_EQ(read.calls.size(), 2u);
  EXPECT_EQ(read.calls[0].name, "all_reduce");
  EXPECT_EQ(read.calls[0].state, CallState::kDone);
  EXPECT_GE(read.calls[0].finished, read.calls[0].started);
  EXPECT_EQ(read.calls[0].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(read.calls[1].state, CallState::kRunning);
  EXPECT_TRUE(read.calls[1].waited);
  EXPECT_EQ(read.calls[1].finished, 0);
  EXPECT_EQ(read.calls[1].peer, 3);
  EXPECT_EQ(read.calls[1].sequence, 2u);
  EXPECT_EQ(read.calls[1].group, "0");
}

TEST_F(FlightRecorderTest, KeepsAnErrorAndCutsLongTexts) {
  FlightRecorder recorder = make();
  CallNote long_note = note("a_name_that_is_longer_than_the_place_for_names", 1);
  const CallToken token = recorder.begin(long_note);
  recorder.end(token, std::string(500, 'x'));
  const RecordedCall call = read().calls.at(0);
  EXPECT_EQ(call.state, CallState::kFailed);
  EXPECT_EQ(call.error, std::string(95, 'x'));
  EXPECT_EQ(call.name.size(), 31u);
}

TEST_F(FlightRecorderTest, KeepsTheNewestAndWhatIsUnderWay) {
  FlightRecorder recorder = make();
  const CallToken stuck = recorder.begin(note("all_reduce", 1));
  for (std::uint64_t i = 2; i <= 1000; ++i) recorder.end(recorder.begin(note("all_gather", i)), "");
  const FlightRecording read = this->read();
  ASSERT_EQ(read.calls.size(), kSlots);
  EXPECT_EQ(read.calls.front().number, stuck.number);
  EXPECT_EQ(read.calls.front().state, CallState::kRunning);
  EXPECT_EQ(read.calls.back().sequence, 1000u);
}

TEST_F(FlightRecorderTest, TakesMoreThanItHasPlacesForUnderWay) {
  FlightRecorder recorder = make();
  std::vector<CallToken> tokens;
  for (std::uint64_t i = 1; i <= 2 * kSlots; ++i) tokens.push_back(recorder.begin(note("send", i)));
  for (const CallToken& token : tokens) recorder.end(token, "");  // those that were overwritten change nothing
  for (const RecordedCall& call : read().calls) {
    EXPECT_GT(call.number, kSlots);
    EXPECT_EQ(call.state, CallState::kDone);
  }
}

TEST_F(FlightRecorderTest, IsWrittenByManyThreads) {
  FlightRecorder recorder = make();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&recorder] {
      for (std::uint64_t i = 1; i <= 2000; ++i) {
        const CallToken token = recorder.begin(note("all_reduce", i));
        recorder.waiting(token, true);
        recorder.end(token, "");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const FlightRecording read = this->read();
  EXPECT_EQ(read.calls.back().number, 8000u);
  for (const RecordedCall& call : read.calls) EXPECT_EQ(call.state, CallState::kDone);
}

TEST_F(FlightRecorderTest, OutlivesAKilledProcess) {
  const pid_t child = fork();
  if (child == 0) {
    FlightRecorder recorder = make();
    recorder.begin(note("barrier", 7));
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const FlightRecording read = this->read();
  EXPECT_EQ(read.process, child);
  ASSERT_EQ(read.calls.size(), 1u);
  EXPECT_EQ(read.calls[0].name, "barrier");
  EXPECT_EQ(read.calls[0].state, CallState::kRunning);
}

TEST_F(FlightRecorderTest, ReadsNothingFromOtherFiles) {
  EXPECT_FALSE(read_flight_recorder(path_ + "-not-there").has_value());
  std::ofstream(path_) << "something else";
  EXPECT_FALSE(read_flight_recorder(path_).has_value());
  std::ofstream(path_, std::ios::binary) << std::string(kFlightRecorderBytes, '\0');
  EXPECT_FALSE(read_flight_recorder(path_).has_value());
}

TEST_F(FlightRecorderTest, SaysWhereItCouldNotBeMade) {
  EXPECT_THROW(FlightRecorder("/no/such/folder/1.flight", 0, 1), std::system_error);
}

TEST(GroupTest, PrefixIsThatOfTorch) {
  Group group = group_of_all();
  EXPECT_EQ(log_prefix(group), "[PG ID 0 PG GUID 0(default_pg) Rank 1] ");
  group.description = "undefined";
  EXPECT_EQ(log_prefix(group), "[PG ID 0 PG GUID 0 Rank 1] ");
  group.global_ranks = {4, 6};
  EXPECT_EQ(group.global_rank(1), 6);
}

}  // namespace
}  // namespace devsan::collectives
