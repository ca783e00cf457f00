// Who waits for whom: ranks that ended, never came, or are in another collective.

#include "diagnose/ranks.h"

namespace devsan::diagnose::test {

using model::FixKind;

TEST(EndedRank, TheExceptionBeforeTheTimeouts) {
  JobCase job(4);
  job.raises(2, "ValueError", "sample 7 has no label", own("data.py", 33, "collate"), 100);
  for (const int number : {0, 1, 3}) {
    job.waits(number, "all_reduce", 12);
    job.raises(number, "RuntimeError", "[pair.cc:534] Connection closed by peer [127.0.0.1]:4711",
               own("train.py", 12, "train"), 101);
    job[number].peer_failed = true;
  }
  const auto first = expect_first(job, "DV306", {2});
  EXPECT_EQ(job.found().size(), 1u) << text_of(job.found());
  EXPECT_NE(first.finding.title.text().find("ValueError: sample 7 has no label"), std::string::npos);
  expect_victim(first, "ranks 0, 1 and 3 wait in all_reduce");
  expect_fix(first.finding, FixKind::kUseSite, "data.py:33");
}

TEST(EndedRank, AFindingOfItsOwnIsTheCause) {
  JobCase job(2);
  job.finds(1, "DV101", "vector");
  job.waits(0, "all_reduce", 12);
  const auto first = expect_first(job, "DV101", {1});
  EXPECT_EQ(job.found().size(), 1u);
  expect_victim(first, "rank 0 waits in all_reduce");
}

TEST(EndedRank, KilledInsideOfACollective) {
  JobCase job(3);
  job[1].end = RankEnd::kKilled;
  job[1].signal = 9;
  job[1].collectives.push_back(job.waits(0, "all_reduce", 12));
  job.waits(2, "all_reduce", 12);
  const auto first = expect_first(job, "DV306", {1});
  EXPECT_NE(first.finding.title.text().find("SIGKILL"), std::string::npos);
  expect_evidence(first.finding, "cannot see who sent the signal");  // who killed it is not decided
  expect_victim(first, "ranks 0 and 2 wait in all_reduce");
}

TEST(EndedRank, TwoExceptionsTheEarlierFirst) {
  JobCase job(3);
  job.raises(0, "KeyError", "'b'", own("b.py", 2, "f"), 20);
  job.raises(2, "ValueError", "a", own("a.py", 1, "f"), 10);
  const auto findings = job.found();
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].ranks, (std::vector<int>{2}));
}

TEST(EndedRank, TheSameExceptionEverywhereIsOne) {
  JobCase job(4);
  for (int number = 0; number < 4; ++number) job.raises(number, "KeyError", "'b'", own("b.py", 2, "f"));
  expect_first(job, "DV306", {0, 1, 2, 3});
  EXPECT_EQ(job.found().size(), 1u);
}

TEST(EndedRank, OutOfMemoryIsTold) {
  JobCase job(2);
  job.raises(1, "OutOfMemoryError", "CUDA out of memory.", own("train.py", 30, "main"));
  const auto first = expect_first(job, "DV306", {1});
  EXPECT_NE(first.finding.title.text().find("out of memory on cuda:1"), std::string::npos);
}

TEST(EndedRank, SilenceIsNotCalledDeath) {
  JobCase job(2);
  job[1].end = RankEnd::kUnknown;
  job.waits(0, "all_reduce", 12);
  const auto first = expect_first(job, "DV306", {1});
  EXPECT_EQ(first.finding.confidence, model::Confidence::kLikely);
  expect_evidence(first.finding, "it was killed, called os._exit, or still runs");
}

TEST(MissingRank, FinishedEarly) {
  JobCase job(3);
  job.waits(0, "all_reduce", 12);
  job.waits(1, "all_reduce", 12);
  Collective last = job[0].collectives.front();
  last.sequence = 11;
  last.finished = true;
  job[2].collectives.push_back(last);
  const auto first = expect_first(job, "DV304", {2});
  expect_evidence(first.finding, "rank 2 has finished");
  expect_evidence(first.finding, "number 11");
  expect_fix(first.finding, FixKind::kConfiguration, "same number of steps");
  expect_victim(first, "ranks 0 and 1 wait in all_reduce");
}

TEST(MissingRank, UnderATestOfTheRank) {
  JobCase job(2);
  job.waits(0, "barrier", 20).condition = "rank == 0";
  job[1].end = RankEnd::kTerminated;
  job[1].where = own("train.py", 25, "train");
  const auto first = expect_first(job, "DV304", {1});
  expect_evidence(first.finding, "`rank == 0`");
  expect_evidence(first.finding, "train.py:25");
  expect_fix(first.finding, FixKind::kCreationSite, "out of the branch");
}

TEST(MissingRank, OtherGroupsAreNotWaitedFor) {
  JobCase job(3);
  job.waits(0, "all_reduce", 12).members = {0, 1};
  job[1].end = RankEnd::kTerminated;
  expect_first(job, "DV304", {1});
}

TEST(MismatchedCollectives, OtherCalls) {
  JobCase job(3);
  job.waits(0, "all_reduce", 12);
  job.waits(1, "broadcast", 15).condition = "rank == 1";
  job.waits(2, "all_reduce", 12);
  const auto first = expect_first(job, "DV305", {1});
  expect_evidence(first.finding, "ranks 0 and 2 are in all_reduce of float32[1024] (4 KiB), at train.py:12");
  expect_evidence(first.finding, "rank 1 is in broadcast");
  expect_evidence(first.finding, "`rank == 1`");
  ASSERT_EQ(first.finding.sites.size(), 2u);
  EXPECT_EQ(first.finding.sites.front().frame.span.line, 15);  // the offending one first
  EXPECT_EQ(first.site_ranks, (std::vector<std::vector<int>>{{1}, {0, 2}}));
}

TEST(MismatchedCollectives, WhoIsUnderATestOfTheRankIsTheOddOne) {
  JobCase job(2);
  Collective& alone = job.waits(0, "barrier", 20);
  alone.condition = "trainer.is_global_zero";
  alone.through = "lightning/fabric/distributed.py:213";
  job.waits(1, "broadcast", 30);
  const auto first = expect_first(job, "DV305", {0});
  expect_evidence(first.finding, "at train.py:20 (lightning/fabric/distributed.py:213)");
  expect_fix(first.finding, FixKind::kCreationSite, "call barrier in every rank: take it out of the branch");
}

TEST(MismatchedCollectives, ACallOfTheSameNameUnderATestOfTheRank) {
  JobCase job(2);
  Collective& alone = job.waits(0, "all_reduce", 20);
  alone.condition = "rank == 0";
  alone.shapes = {{}};
  job.waits(1, "all_reduce", 12);
  expect_fix(expect_first(job, "DV305", {0}).finding, FixKind::kCreationSite,
             "call all_reduce in every rank: take it out of the branch, at train.py:20");
  alone.condition_at = "train.py:33";  // that calls the function of line 20
  const auto first = expect_first(job, "DV305", {0});
  expect_fix(first.finding, FixKind::kCreationSite, "take it out of the branch, at train.py:33");
  EXPECT_EQ(first.finding.title.text(),
            "all_reduce at train.py:12 meets all_reduce at train.py:20: the ranks make different calls");
  for (const model::Fix& fix : first.finding.fixes) EXPECT_EQ(fix.text.text().find("pad them"), std::string::npos);
}

TEST(MismatchedCollectives, EachRankTakesOneOfTwoBranches) {
  JobCase job(2);
  Collective& first = job.waits(0, "broadcast", 20);
  first.condition = "rank == 0";
  first.shapes = {{10}};
  job.waits(1, "broadcast", 22).condition = "not (rank == 0)";
  expect_fix(expect_first(job, "DV305", {1}).finding, FixKind::kCreationSite, "one size in every rank");
}

TEST(MismatchedCollectives, SizesAndTypes) {
  JobCase sizes(2);
  sizes.waits(0, "all_gather", 12);
  sizes.waits(1, "all_gather", 12).shapes = {{512}};
  expect_fix(expect_first(sizes, "DV305", {1}).finding, FixKind::kCreationSite, "pad them");
  JobCase types(2);
  types.waits(0, "all_reduce", 12);
  types.waits(1, "all_reduce", 12).dtype = "bfloat16";
  expect_fix(expect_first(types, "DV305", {1}).finding, FixKind::kCreationSite, "same dtype");
}

TEST(MismatchedCollectives, OneIsStillInItsBackwardPass) {
  JobCase job(2);
  job.waits(0, "all_reduce", 12).where.source = "loss.backward()";
  Collective& behind = job.waits(1, "all_reduce", 20);
  behind.shapes = {{1}};
  behind.where.source = "dist.all_reduce(total)";
  const auto first = expect_first(job, "DV305", {1});
  expect_evidence(first.finding, "the ranks have made different numbers of steps");
  expect_fix(first.finding, FixKind::kConfiguration, "give every rank the same number of steps");
  for (const model::Fix& fix : first.finding.fixes) EXPECT_EQ(fix.text.text().find("pad them"), std::string::npos);
}

TEST(MismatchedCollectives, TheSenderHasGoneOn) {
  JobCase job(2);
  job.waits(1, "broadcast", 12).shapes = {{72}};
  job[1].end = RankEnd::kKilled;  // as gloo ends it
  job[1].signal = 6;
  Collective met = job[1].collectives.front();
  met.shapes = {{80}};
  met.finished = true;
  job.waits(0, "all_reduce", 13, 13);
  job[0].collectives.push_back(met);
  expect_first(job, "DV305", {1});
  EXPECT_EQ(job.found().size(), 1u) << text_of(job.found());
}

TEST(MismatchedCollectives, GroupsInAnotherOrder) {
  JobCase job(2);
  job.waits(0, "all_reduce", 12).group = "tp";
  job.waits(1, "all_reduce", 13).group = "dp";
  const auto first = expect_first(job, "DV305", {1});
  expect_evidence(first.finding, "each waits for the other");
  EXPECT_EQ(first.finding.title, "deadlock: rank 0 waits in group tp, rank 1 in group dp");
  expect_fix(first.finding, FixKind::kCreationSite, "use the groups in the same order");
}

TEST(MismatchedCollectives, UnevenAllToAllIsAllowed) {
  JobCase job(2);
  job.waits(0, "all_to_all_single", 12);
  job.waits(1, "all_to_all_single", 12).shapes = {{512}};
  for (const auto& each : job.found()) EXPECT_NE(each.finding.code, "DV305");
}

}  // namespace devsan::diagnose::test
