// A GPU without room: who holds its memory, and what would make it fit.

#include "diagnose/diagnose.h"

#include <algorithm>

#include "case.h"

namespace devsan::diagnose::test {
namespace {

using model::Confidence;
using model::HeldMemory;
using model::HolderKind;
using model::MemoryPart;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

MemoryPart part(HolderKind kind, std::uint64_t bytes, std::string name, std::uint64_t tensors = 1) {
  return {kind, bytes, tensors, {{std::move(name), "", "", 0, bytes, tensors}}};
}

/// 100 MiB, of which `parts` hold 80; 20 are requested, 10 are free.
HeldMemory full(std::vector<MemoryPart> parts) {
  HeldMemory held;
  held.device = "cuda:0";
  held.requested = held.tried = 20 * kMiB;
  held.total = 100 * kMiB;
  held.free = 10 * kMiB;
  held.process = 90 * kMiB;
  held.allocated = 80 * kMiB;
  held.reserved = 88 * kMiB;
  held.parts = std::move(parts);
  return held;
}

model::Finding finding_of(HeldMemory held, Phase phase = Phase::kNone) {
  Case context;
  context.fails("", "CUDA out of memory. Tried to allocate 20.00 MiB.", SentenceKind::kMemory);
  context.facts.failure.phase = phase;
  context.facts.failure.memory = std::move(held);
  const auto findings = diagnose(context.facts);
  EXPECT_EQ(findings.size(), 1U);
  return findings.front();
}

const model::Fix* fix_with(const model::Finding& finding, std::string_view words) {
  const auto found = std::ranges::find_if(
      finding.fixes, [&](const model::Fix& fix) { return fix.text.text().find(words) != std::string::npos; });
  return found == finding.fixes.end() ? nullptr : &*found;
}

bool tells(const model::Finding& finding, std::string_view words) {
  return std::ranges::any_of(finding.evidence,
                             [&](const auto& each) { return each.text().find(words) != std::string::npos; });
}

TEST(OutOfMemory, TellsWhoHoldsTheMemory) {
  const auto finding = finding_of(full({part(HolderKind::kOptimizerState, 60 * kMiB, "exp_avg of 0.weight"),
                                        part(HolderKind::kParameter, 20 * kMiB, "0.weight")}));
  EXPECT_EQ(finding.code, "DV501");
  EXPECT_EQ(finding.confidence, Confidence::kCertain);
  EXPECT_EQ(finding.title.text(), "cuda:0 is out of memory: 20.00 MiB requested, 10.00 MiB free of 100.00 MiB");
  EXPECT_TRUE(
      tells(finding, "80.00 MiB are allocated: optimizer state 60.00 MiB (75%), parameters 20.00 MiB (25%). 10.00 "));
  EXPECT_TRUE(tells(finding, "Parameters: 0.weight (20.00 MiB)."));
  EXPECT_TRUE(tells(finding, "8.00 MiB are reserved but unallocated, and the CUDA context takes 2.00 MiB."));
  EXPECT_NE(fix_with(finding, "an optimizer that keeps less state"), nullptr);
  EXPECT_EQ(fix_with(finding, "shard"), nullptr) << "there is one GPU";
  EXPECT_EQ(fix_with(finding, "expandable_segments"), nullptr) << "8 MiB of cache hold no 20 MiB";
}

TEST(OutOfMemory, TheHoldersOfEachLargeKindAreOnePieceOfEvidence) {
  HeldMemory held = full(
      {part(HolderKind::kOptimizerState, 30 * kMiB, "exp_avg of 0.weight"),
       part(HolderKind::kParameter, 20 * kMiB, "0.weight"), part(HolderKind::kGradient, 15 * kMiB, "0.weight.grad"),
       part(HolderKind::kActivation, 10 * kMiB, "`x`"), part(HolderKind::kBuffer, 5 * kMiB, "mask")});
  const auto finding = finding_of(std::move(held));
  EXPECT_TRUE(tells(finding,
                    "Optimizer state: exp_avg of 0.weight (30.00 MiB). Parameters: 0.weight (20.00 MiB). Gradients: "
                    "0.weight.grad (15.00 MiB). Results of operators: `x` (10.00 MiB)."));
  EXPECT_FALSE(tells(finding, "mask")) << "four kinds are enough";
}

TEST(OutOfMemory, WhatIsCheckpointedIsNotToBeCheckpointed) {
  Case context;
  context.fails("", "CUDA out of memory. Tried to allocate 20.00 MiB.", SentenceKind::kMemory);
  context.facts.failure.phase = Phase::kForward;
  context.facts.failure.memory = full({part(HolderKind::kActivation, 75 * kMiB, "`x`")});
  EXPECT_NE(fix_with(diagnose(context.facts).at(0), "and torch.utils.checkpoint"), nullptr);
  context.facts.failure.memory->checkpoints = true;
  EXPECT_EQ(fix_with(diagnose(context.facts).at(0), "and torch.utils.checkpoint"), nullptr);
  EXPECT_NE(fix_with(diagnose(context.facts).at(0), "the model checkpoints its layers already"), nullptr);
  model::Frame frame;
  frame.file = "/site-packages/torch/utils/checkpoint.py";
  frame.package = "torch";
  context.facts.failure.frames.push_back(frame);
  const auto finding = diagnose(context.facts).at(0);
  EXPECT_EQ(fix_with(finding, "torch.utils.checkpoint"), nullptr);
  EXPECT_NE(fix_with(finding, "checkpointed already"), nullptr);
}

TEST(OutOfMemory, TellsWhatIsMissingAndWhichPartsHoldAsMuch) {
  const auto finding =
      finding_of(full({part(HolderKind::kActivation, 60 * kMiB, "`x`"), part(HolderKind::kGradient, 10 * kMiB, "g"),
                       part(HolderKind::kParameter, 9 * kMiB, "0.weight")}));
  EXPECT_TRUE(tells(finding,
                    "10.00 MiB are missing; each of these alone holds that much: activations and other results of "
                    "operators, gradients."));
  HeldMemory held = full({part(HolderKind::kParameter, 9 * kMiB, "0.weight")});
  EXPECT_TRUE(tells(finding_of(held), "10.00 MiB are missing, more than any of these."));
  held.free = held.tried;
  held.allowed = 80 * kMiB;
  EXPECT_FALSE(tells(finding_of(held), "missing")) << "the GPU has room: the limit is too low";
}

TEST(OutOfMemory, AnotherGpuIsNamedOnlyIfItHasRoom) {
  HeldMemory held = full({part(HolderKind::kOptimizerState, 60 * kMiB, "state")});
  held.elsewhere = {{"cuda:1", 100 * kMiB, 19 * kMiB}, {"cuda:2", 100 * kMiB, 5 * kMiB}};
  EXPECT_EQ(fix_with(finding_of(held), "place a part"), nullptr);
  held.elsewhere[1].free = 50 * kMiB;
  const auto finding = finding_of(held);
  ASSERT_NE(fix_with(finding, "place a part of the model on cuda:2: 50.00 MiB of its 100.00 MiB are free"), nullptr);
  EXPECT_NE(fix_with(finding, "shard the optimizer state over the 3 GPUs (FSDP, ZeRO): 20.00 MiB"), nullptr);
}

TEST(OutOfMemory, TheGpusOfOtherRanksAreTheirs) {
  Case context;
  context.fails("", "CUDA out of memory. Tried to allocate 20.00 MiB.", SentenceKind::kMemory);
  context.facts.process.world_size = 2;
  context.facts.failure.memory = full({part(HolderKind::kOptimizerState, 60 * kMiB, "state")});
  context.facts.failure.memory->elsewhere = {{"cuda:1", 100 * kMiB, 100 * kMiB}};
  const auto findings = diagnose(context.facts);
  EXPECT_EQ(fix_with(findings.at(0), "place a part"), nullptr);
  EXPECT_NE(fix_with(findings.at(0), "shard the optimizer state over the 2 GPUs"), nullptr);
}

TEST(OutOfMemory, FragmentationIsNamedWhereTheCacheWouldDo) {
  HeldMemory held = full({part(HolderKind::kActivation, 40 * kMiB, "`x`")});
  held.allocated = 40 * kMiB;
  const model::Fix* fix = nullptr;
  const auto fragmented = finding_of(held);
  ASSERT_NE(fix = fix_with(fragmented, "expandable_segments:True: 48.00 MiB are reserved"), nullptr);
  EXPECT_EQ(fix->confidence, Confidence::kLikely);
  held.expandable_segments = true;
  EXPECT_EQ(fix_with(finding_of(held), "expandable_segments:True"), nullptr);
}

TEST(OutOfMemory, GradientsOfTheStepBeforeCountInTheForwardPassAlone) {
  const HeldMemory held =
      full({part(HolderKind::kActivation, 75 * kMiB, "`x`"), part(HolderKind::kGradient, 5 * kMiB, "0.weight.grad")});
  EXPECT_EQ(fix_with(finding_of(held, Phase::kBackward), "zero_grad"), nullptr);
  const auto finding = finding_of(held, Phase::kForward);
  const model::Fix* fix = fix_with(finding, "zero_grad(set_to_none=True)");
  ASSERT_NE(fix, nullptr);
  EXPECT_EQ(fix->confidence, Confidence::kPossible) << "5 MiB are not the 10 that are missing";
  EXPECT_NE(fix_with(finding, "which hold 75.00 MiB: a smaller batch"), nullptr);
}

TEST(OutOfMemory, AListThatGrowsIsNamed) {
  HeldMemory held = full({part(HolderKind::kCollected, 40 * kMiB, "`outputs`", 40)});
  EXPECT_NE(fix_with(finding_of(held), "keep what is in `outputs`"), nullptr);
  held.parts[0].largest[0].bytes = 5 * kMiB;
  EXPECT_EQ(fix_with(finding_of(held), "keep what is in `outputs`"), nullptr) << "it would not make room";
}

TEST(OutOfMemory, GraphsOfSeveralPassesAreNamedBeforeWhatFreesLess) {
  const auto finding = finding_of(
      full({part(HolderKind::kHistory, 50 * kMiB, "`losses`", 90), part(HolderKind::kActivation, 20 * kMiB, "`x`"),
            part(HolderKind::kGradient, 10 * kMiB, "0.weight.grad")}),
      Phase::kForward);
  ASSERT_EQ(finding.fixes.size(), 3U);
  EXPECT_TRUE(finding.fixes[0].text.text().starts_with("detach what is kept of earlier steps in `losses`"));
  EXPECT_TRUE(finding.fixes[1].text.text().starts_with("make the results of operators smaller"));
  EXPECT_TRUE(finding.fixes[2].text.text().starts_with("free the gradients of the step before"));
}

TEST(OutOfMemory, WhatFreesMostIsToldFirstWhateverItsKind) {
  HeldMemory held = full({part(HolderKind::kActivation, 70 * kMiB, "`x`")});
  held.others = 12 * kMiB;
  const auto finding = finding_of(held, Phase::kForward);
  ASSERT_EQ(finding.fixes.size(), 2U);
  EXPECT_TRUE(finding.fixes[0].text.text().starts_with("make the results of operators smaller"));
  EXPECT_EQ(finding.fixes[1].kind, model::FixKind::kConfiguration);
}

TEST(OutOfMemory, OthersAndTheLimitOfTheProcess) {
  HeldMemory held = full({part(HolderKind::kBuffer, 80 * kMiB, "cache")});
  held.others = 9 * kMiB;
  EXPECT_EQ(fix_with(finding_of(held), "other processes"), nullptr) << "10 MiB are missing";
  held.others = 30 * kMiB;
  EXPECT_NE(fix_with(finding_of(held), "they take 30.00 MiB, and 10.00 MiB are missing"), nullptr);
  held.free = 50 * kMiB;
  held.allowed = 95 * kMiB;
  EXPECT_NE(fix_with(finding_of(held), "raise the limit"), nullptr);
}

TEST(OutOfMemory, WhatNoGpuHoldsIsMadeSmaller) {
  HeldMemory held = full({part(HolderKind::kParameter, 80 * kMiB, "0.weight")});
  held.requested = held.tried = 200 * kMiB;
  held.elsewhere = {{"cuda:1", 100 * kMiB, 100 * kMiB}};
  const auto finding = finding_of(held);
  ASSERT_EQ(finding.fixes.size(), 1U);
  EXPECT_NE(fix_with(finding, "200.00 MiB do not fit on a GPU of 100.00 MiB"), nullptr);
}

TEST(OutOfMemory, Float32ParametersCouldBeHalved) {
  Case context;
  context.fails("", "CUDA out of memory. Tried to allocate 20.00 MiB.", SentenceKind::kMemory);
  context.facts.failure.memory = full({part(HolderKind::kParameter, 80 * kMiB, "weight")});
  const auto tensor = [](std::string name, std::string dtype, std::uint64_t bytes) {
    return model::ModuleTensor{std::move(name), false, true, "cuda:0", std::move(dtype), bytes};
  };
  model::Model model;
  model.modules.emplace_back().tensors = {tensor("weight", "float32", 60 * kMiB),
                                          tensor("half", "bfloat16", 20 * kMiB)};
  context.facts.models = {model};
  const auto findings = diagnose(context.facts);
  EXPECT_NE(fix_with(findings.at(0), "hold 60.00 MiB, and would hold 30.00 MiB"), nullptr);
}

TEST(OutOfMemory, WithoutAnEmulatedGpuTheSentenceIsAllThatIsKnown) {
  Case context;
  context.fails("", "CUDA out of memory. Tried to allocate 2.00 GiB.", SentenceKind::kMemory);
  const auto findings = diagnose(context.facts);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "DV501");
  EXPECT_EQ(findings[0].fixes.size(), 1U);
}

}  // namespace
}  // namespace devsan::diagnose::test
