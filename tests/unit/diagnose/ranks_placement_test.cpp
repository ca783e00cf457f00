// What each rank placed where, compared: shared GPUs, foreign memory, maps in ranks, models that differ.

#include "diagnose/ranks.h"
#include "diagnose/ranks/job.h"

#include <algorithm>

namespace devsan::diagnose::test {

using model::FixKind;

namespace {

/// Rank's model and memory on `device`, and nowhere else.
void lives_on(RankFacts& rank, const char* device, std::vector<Event> placed = {}) {
  rank.memory.clear();
  JobCase::holds(rank, device, 1 << 20, std::move(placed));
}

}  // namespace

TEST(Ranks, AreNamedInRuns) {
  EXPECT_EQ(ranks::ranks_text({3}), "rank 3");
  EXPECT_EQ(ranks::ranks_text({0, 1}), "ranks 0 and 1");
  EXPECT_EQ(ranks::ranks_text({7, 1, 2, 3, 4, 5, 6}), "ranks 1-7");
  EXPECT_EQ(ranks::ranks_text({0, 2, 3, 5, 6, 7}), "ranks 0, 2, 3 and 5-7");
  EXPECT_EQ(ranks::bytes_text(4096), "4 KiB");
  EXPECT_EQ(ranks::bytes_text(1536), "1.5 KiB");
}

TEST(Ranks, NothingIsSaidOfAJobThatIsWell) {
  EXPECT_TRUE(JobCase(4).found().empty());
  EXPECT_TRUE(JobCase(2, 1, "gloo").found().empty());  // one GPU for all: how one tries a program out
  JobCase single(1);
  single.finds(0, "DV101", "a");
  EXPECT_TRUE(single.found().empty());  // one process says it itself
}

TEST(SharedGpu, SetDeviceForgotten) {
  JobCase job(4);
  for (int number = 0; number < 4; ++number) {
    RankFacts& rank = job[number];
    rank.process.current_device = "cuda:0";
    rank.process.set_device_called = false;
    rank.group_made = own("train.py", 9, "main", "dist.init_process_group(\"nccl\")");
    rank.group_made.span.column = 5;
    lives_on(rank, "cuda:0", {made("cuda:0", {own("train.py", 12, "main", "net = Net().cuda()")})});
    job.finds(number, "DV115", "x", SentenceKind::kGroup,
              "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 7000");
  }
  const auto first = expect_first(job, "DV301", {0, 1, 2, 3});
  EXPECT_EQ(job.found().size(), 1u);
  expect_evidence(first.finding, "NCCL refuses");
  expect_evidence(first.finding, "set_device was not called");
  expect_evidence(first.finding, "train.py:12");
  expect_fix(first.finding, FixKind::kConfiguration, "torch.cuda.set_device");
  ASSERT_TRUE(first.finding.fixes.front().edit.has_value());
  EXPECT_EQ(first.finding.fixes.front().edit->after,
            "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))\n    dist.init_process_group(\"nccl\")");
}

TEST(SharedGpu, SetDeviceForgottenInSpawnedRanks) {
  JobCase job(2);
  for (int number = 0; number < 2; ++number) {
    RankFacts& rank = job[number];
    rank.process.current_device = "cuda:0";
    rank.process.set_device_called = false;
    rank.process.environment.clear();  // torch.multiprocessing.spawn sets nothing
    rank.group_made = own("train.py", 9, "main", "dist.init_process_group(\"nccl\", rank=index, world_size=2)");
    rank.group_made.span.column = 5;
    lives_on(rank, "cuda:0", {made("cuda:0", {own("train.py", 12, "main", "net = Net().cuda()")})});
    job.finds(number, "DV115", "x", SentenceKind::kGroup,
              "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 7000");
  }
  const auto fix = expect_first(job, "DV301", {0, 1}).finding.fixes.front();
  ASSERT_TRUE(fix.edit.has_value());
  EXPECT_TRUE(fix.edit->after.starts_with("torch.cuda.set_device(index % torch.cuda.device_count())\n"))
      << fix.edit->after;
}

TEST(SharedGpu, OneGpuIsShownToAll) {
  JobCase job(2, 1);
  for (int number = 0; number < 2; ++number) {
    job[number].process.visible_devices = "1";
    job.finds(number, "DV115", "x", SentenceKind::kGroup, "Duplicate GPU detected : rank 0 and rank 1");
  }
  const auto first = expect_first(job, "DV301", {0, 1});
  expect_evidence(first.finding, "CUDA_VISIBLE_DEVICES is \"1\"");
  expect_fix(first.finding, FixKind::kConfiguration, "CUDA_VISIBLE_DEVICES");
}

TEST(SharedGpu, MoreRanksThanGpus) {
  JobCase job(4, 2);
  for (int number = 0; number < 4; ++number) {
    job.finds(number, "DV115", "x", SentenceKind::kGroup, "Duplicate GPU detected : rank 0 and rank 2");
  }
  const auto findings = job.found();
  ASSERT_EQ(findings.size(), 2u);  // two GPUs, each with two ranks
  EXPECT_EQ(findings[0].ranks, (std::vector<int>{0, 2}));
  expect_fix(findings[0].finding, FixKind::kConfiguration, "--nproc-per-node 2");
}

TEST(SharedGpu, TheSameNumberOnTwoMachinesIsAnotherGpu) {
  JobCase job(2, 1);
  job[1].host = "node1";
  EXPECT_TRUE(job.found().empty());
}

TEST(SharedGpu, AsMuchOnEachGpuIsNoMajority) {
  JobCase job(2, 2, "gloo");
  job[1].process.current_device = "cuda:0";
  job[1].process.set_device_called = false;
  JobCase::holds(job[1], "cuda:0", 1 << 20);
  for (const auto& each : job.found()) EXPECT_EQ(each.finding.code, "DV302") << text_of(job.found());
}

TEST(SharedGpu, WhatCameWithTheRankMeetsTheModelThere) {
  JobCase job(2);
  lives_on(job[1], "cuda:0");
  RankModel& model = job.model(1, {tensor_of("a", {8}, "cuda:0")});
  model.hook_devices = {"cuda:0"};
  job.finds(1, "DV102", "labels");
  job[1].findings.front().devices = {"cuda:1", "cuda:0"};
  const auto first = expect_first(job, "DV204", {1});
  EXPECT_EQ(first.shown_rank, 1);
  for (const auto& each : job.found()) EXPECT_NE(each.finding.code, "DV102") << text_of(job.found());
}

TEST(ForeignMemory, CheckpointWithoutMapLocation) {
  JobCase job(4);
  for (int number = 1; number < 4; ++number) {
    Event loaded = event(EventKind::kLoaded, "cuda:0", "torch.load",
                         {lib("torch", "torch/serialization.py", 900, "load"),
                          own("train.py", 20, "main", "state = torch.load(\"last.pt\")")});
    JobCase::holds(job[number], "cuda:0", 1000, {loaded});
  }
  const auto first = expect_first(job, "DV302", {1, 2, 3});
  EXPECT_EQ(first.finding.severity, model::Severity::kWarning);
  expect_evidence(first.finding, "the GPU of rank 0");
  expect_fix(first.finding, FixKind::kUseSite, "map_location");
  bool edited = false;
  for (const auto& fix : first.finding.fixes) {
    edited = edited || (fix.edit && fix.edit->after == "state = torch.load(\"last.pt\", map_location=\"cpu\")");
  }
  EXPECT_TRUE(edited);
}

TEST(ForeignMemory, ACheckpointThatMeetsTensorsOfTheRankIsReadToItsGpu) {
  JobCase job(2);
  const Event loaded = event(EventKind::kLoaded, "cuda:0", "torch.load",
                             {lib("torch", "torch/serialization.py", 900, "load"),
                              own("train.py", 20, "main", "state = torch.load(\"last.pt\")")});
  JobCase::holds(job[1], "cuda:0", 1000, {loaded});
  model::OwnFinding mixed;
  mixed.kind = model::SentenceKind::kMixed;
  job[1].findings.push_back(mixed);
  job[1].process.set_device_called = true;
  const auto first = expect_first(job, "DV302", {1});
  const bool edited = std::ranges::any_of(first.finding.fixes, [](const auto& fix) {
    return fix.edit && fix.edit->after == "state = torch.load(\"last.pt\", map_location=\"cuda\")";
  });
  EXPECT_TRUE(edited);
}

TEST(ForeignMemory, MapThatNamesOneGpuInEveryRank) {
  JobCase job(2);
  Event loaded = event(EventKind::kLoaded, "cuda:0", "from_pretrained",
                       {own("train.py", 20, "main", "teacher = Model.from_pretrained(path, device_map={\"\": 0})")});
  loaded.owner = {.name = "transformers", .mechanism = "from_pretrained", .setting = "device_map", .where = {}};
  JobCase::holds(job[1], "cuda:0", 1000, {loaded});
  const auto first = expect_first(job, "DV302", {1});
  expect_fix(first.finding, FixKind::kConfiguration, "device_map={\"\": int(os.environ[\"LOCAL_RANK\"])}");
}

TEST(ForeignMemory, WhoRunsOutOfMemoryIsNotWhoIsToBeChanged) {
  JobCase job(2);
  JobCase::holds(job[1], "cuda:0", 1 << 30,
                 {made("cuda:0", {own("train.py", 14, "main", "cache = torch.empty(n, device=\"cuda:0\")")})});
  JobCase::holds(job[1], "cuda:1", std::uint64_t{2} << 30);
  job.raises(0, "OutOfMemoryError", "CUDA out of memory.", own("train.py", 30, "main"));
  job.waits(1, "barrier", 31);
  const auto first = expect_first(job, "DV302", {1});
  EXPECT_EQ(first.finding.severity, model::Severity::kError);
  expect_evidence(first.finding, "Rank 0 ran out of memory");
  expect_fix(first.finding, FixKind::kCreationSite, "instead of \"cuda:0\"");
}

TEST(ForeignMemory, WhatARankCouldNotDecideFailsByIt) {
  JobCase job(3);
  const Frame line = own("train.py", 11, "main", "weights = torch.ones(10).cuda(0)");
  for (int number = 1; number < 3; ++number) {
    Event placed = moved("cuda:0", {line});
    placed.device_text = "0";
    JobCase::holds(job[number], "cuda:0", 1000, {placed});
    job.finds(number, number == 1 ? "DV000" : "DV104", "x");
    if (number == 2) job[number].findings.front().placed = {line};  // said otherwise, of the same tensor
  }
  const auto first = expect_first(job, "DV302", {1, 2});
  EXPECT_EQ(job.found().size(), 1u) << text_of(job.found());
  EXPECT_EQ(first.finding.severity, model::Severity::kError);
  EXPECT_EQ(first.shown_rank, 1);
  ASSERT_EQ(first.finding.fixes.size(), 1u);  // set_device was called
  EXPECT_EQ(first.finding.fixes.front().edit->after, "weights = torch.ones(10).cuda()");
}

TEST(ForeignMemory, NcclRefusesTheOwnerAsWell) {
  JobCase job(2);
  lives_on(job[1], "cuda:1");
  JobCase::holds(job[1], "cuda:0", 512,
                 {made("cuda:0", {own("train.py", 26, "init", "self.buffer = torch.empty(4, device=\"cuda:0\")")})});
  for (int number = 0; number < 2; ++number) {
    job.finds(number, "DV115", number == 0 ? "send" : "recv", SentenceKind::kGroup,
              "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 7000");
  }
  const auto first = expect_first(job, "DV302", {1});
  EXPECT_EQ(job.found().size(), 1u) << text_of(job.found());
  EXPECT_EQ(first.finding.severity, model::Severity::kError);
  expect_evidence(first.finding, "NCCL refuses ranks 0 and 1");
  expect_fix(first.finding, FixKind::kCreationSite, "instead of \"cuda:0\"");
}

TEST(ForeignMemory, ObjectsThatCameFromEverybody) {
  JobCase job(3);
  for (int number = 0; number < 3; ++number) {
    for (int other = 0; other < 3; ++other) {
      if (other == number) continue;
      const Device gpu("cuda:" + std::to_string(other));
      JobCase::holds(job[number], gpu, 512,
                     {event(EventKind::kLoaded, gpu, "torch.distributed",
                            {own("train.py", 8, "main", "dist.all_gather_object(results, mine)")})});
    }
  }
  const auto first = expect_first(job, "DV302", {0, 1, 2});
  EXPECT_EQ(job.found().size(), 1u) << text_of(job.found());
  expect_evidence(first.finding, "took 3 KiB on cuda:0, cuda:1, cuda:2, the GPUs of ranks 0-2");
  ASSERT_EQ(first.finding.fixes.size(), 1u);
  expect_fix(first.finding, FixKind::kUseSite, "x.cpu()");
}

TEST(ForeignMemory, TheSameDeviceTwiceInALine) {
  JobCase job(2);
  Event placed = moved("cuda:0", {own("train.py", 21, "collate", "return x.to(\"cuda:0\"), y.to(\"cuda:0\")")});
  placed.device_text = "\"cuda:0\"";
  JobCase::holds(job[1], "cuda:0", 512, {placed});
  const auto first = expect_first(job, "DV302", {1});
  ASSERT_TRUE(first.finding.fixes.front().edit.has_value());
  EXPECT_EQ(first.finding.fixes.front().edit->after, "return x.to(\"cuda\"), y.to(\"cuda\")");
}

TEST(ForeignMemory, AVariableIsWrongWhereItGotItsValue) {
  JobCase job(2);
  Event placed = moved("cuda:0", {own("train.py", 36, "epoch", "labels = labels.to(device)")});
  placed.device_text = "device";
  JobCase::holds(job[1], "cuda:0", 512, {placed});
  const auto first = expect_first(job, "DV302", {1});
  expect_fix(first.finding, FixKind::kCreationSite, "set `device` to this rank's GPU");
}

TEST(ForeignMemory, OfARankThatCouldTellNothing) {
  JobCase job(2);
  job[0].memory.clear();
  job[0].process.current_device = Device();
  job[0].end = RankEnd::kTerminated;
  const Frame line = own("z.py", 5, "main", "weights = torch.ones(8).cuda(0)");
  JobCase::holds(job[1], "cuda:0", 512, {moved("cuda:0", {line})});
  job.finds(1, "DV102", "batch");
  job[1].findings.front().placed = {line};
  expect_first(job, "DV302", {1});
}

TEST(MapInRanks, EachSpreadsItsModel) {
  JobCase job(2);
  for (int number = 0; number < 2; ++number) {
    RankModel& model = job.model(number, {tensor_of("a", {8}, "cuda:0"), tensor_of("b", {8}, "cuda:1")});
    model.wrappers.clear();
    model.device_map = {{"a", "cuda:0"}, {"b", "cuda:1"}};
    model.device_map_text = "device_map=\"auto\"";
    model.mapped_at = own("load.py", 8, "main", "AutoModel.from_pretrained(path, device_map=\"auto\")");
  }
  const auto first = expect_first(job, "DV204", {0, 1});
  EXPECT_EQ(first.finding.severity, model::Severity::kWarning);
  const auto& edit = first.finding.fixes.front().edit;
  ASSERT_TRUE(edit.has_value());
  EXPECT_EQ(edit->after, "AutoModel.from_pretrained(path, device_map={\"\": int(os.environ[\"LOCAL_RANK\"])})");
}

TEST(MapInRanks, GpusOfItsOwnAreFine) {
  JobCase job(2, 4);
  for (int number = 0; number < 2; ++number) {
    const std::string first = "cuda:" + std::to_string(2 * number), second = "cuda:" + std::to_string(2 * number + 1);
    job[number].memory.clear();
    RankModel& model = job.model(number, {tensor_of("a", {8}, first), tensor_of("b", {8}, second)});
    model.wrappers.clear();
    model.device_map = {{"a", first}, {"b", second}};
  }
  job[1].process.current_device = "cuda:2";
  EXPECT_TRUE(job.found().empty()) << text_of(job.found());
}

TEST(MapInRanks, TheRanksOwnFindingStaysWhatItIs) {
  JobCase job(2);
  for (int number = 0; number < 2; ++number) {
    RankModel& model = job.model(number, {tensor_of("a", {8}, "cuda:0"), tensor_of("b", {8}, "cuda:1")});
    model.device_map = {{"a", "cuda:0"}, {"b", "cuda:1"}};
  }
  job.finds(0, "DV201", "norm");  // one incident fails at another place in each rank
  job.finds(1, "DV201", "embedding");
  const auto first = expect_first(job, "DV201", {0, 1});
  EXPECT_EQ(first.of_rank, 0);
  EXPECT_EQ(first.of_finding, 0);
  expect_evidence(first.finding, "spreads the model over cuda:0 and cuda:1");
  EXPECT_EQ(job.found().size(), 1u);
}

TEST(MapInRanks, HooksLoadedBeforeSetDevice) {
  JobCase job(2);
  for (int number = 0; number < 2; ++number) {
    RankModel& model = job.model(number, {tensor_of("a", {8}, Device("cuda:" + std::to_string(number)))});
    model.hook_devices = {"cuda:0"};
  }
  job.finds(1, "DV201", "embedding");
  job.waits(0, "all_reduce", 40);
  const auto first = expect_first(job, "DV201", {1});
  expect_evidence(first.finding, "In rank 0 that is the rank's own GPU");
  expect_victim(first, "rank 0 waits in all_reduce of float32[1024] (4 KiB), at train.py:40");
}

TEST(DifferingModels, ShapeOfOneRank) {
  JobCase job(3);
  for (int number = 0; number < 3; ++number) {
    const Device gpu("cuda:" + std::to_string(number));
    job.model(number, {tensor_of("body.weight", {8, 8}, gpu), tensor_of("head.weight", {number == 2 ? 3 : 4, 8}, gpu)});
    job[number].models.front().wrappers.clear();
    job.raises(number, "RuntimeError", "DDP expects same model across all ranks, but Rank 2 has 2 params",
               own("train.py", 15, "main", "net = DDP(net)"));
  }
  const auto first = expect_first(job, "DV303", {2});
  expect_evidence(first.finding, "`head.weight` is [4,8] in ranks 0 and 1, and [3,8] in rank 2");
  expect_fix(first.finding, FixKind::kCreationSite, "what all ranks share");
  EXPECT_EQ(job.found().size(), 1u) << text_of(job.found());
}

TEST(DifferingModels, MissingOrderDtypeDeviceGradient) {
  const auto usual = [] { return std::vector{tensor_of("a", {8}, "cuda:0"), tensor_of("b", {8}, "cuda:0")}; };
  const auto told = [&](std::vector<model::RankTensor> offending) {
    JobCase job(2);
    job.model(0, usual());
    job.model(1, std::move(offending));
    const auto first = expect_first(job, "DV303", {1});
    return first.finding.evidence.empty() ? std::string() : first.finding.evidence.front().text();
  };
  EXPECT_NE(told({tensor_of("a", {8}, "cuda:1")}).find("has no parameter `b`"), std::string::npos);
  EXPECT_NE(told({tensor_of("b", {8}, "cuda:1"), tensor_of("a", {8}, "cuda:1")}).find("order differs"),
            std::string::npos);
  EXPECT_NE(told({tensor_of("a", {8}, "cuda:1", "bfloat16"), tensor_of("b", {8}, "cuda:1")}).find("bfloat16 in rank 1"),
            std::string::npos);
  EXPECT_NE(told({tensor_of("a", {8}, "cpu"), tensor_of("b", {8}, "cuda:1")}).find("on cpu in rank 1"),
            std::string::npos);
  std::vector frozen = {tensor_of("a", {8}, "cuda:1"), tensor_of("b", {8}, "cuda:1")};
  frozen[1].requires_grad = false;
  EXPECT_NE(told(frozen).find("frozen in rank 1"), std::string::npos);
}

TEST(DifferingModels, StagesOfAPipelineDifferOnPurpose) {
  JobCase job(2);
  job.model(0, {tensor_of("layers.0", {8}, "cuda:0")}).wrappers.clear();
  job.model(1, {tensor_of("layers.1", {8}, "cuda:1")}).wrappers.clear();
  EXPECT_TRUE(job.found().empty()) << text_of(job.found());
}

}  // namespace devsan::diagnose::test
