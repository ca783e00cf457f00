// Moves that the program wrote and that moved nothing: their result was thrown away, or the tensor was there already. And
// the random generator, which no move brings anywhere.

#include "diagnose/programs.h"

namespace devsan::diagnose::test {

using model::FixKind;

namespace {

/// Scores of a teacher on one GPU meet those of a student on another; both were computed by a model that was put there.
Case scores_of_two_models() {
  Case context;
  context.mixes("aten::mul", "cuda:1", "cuda:0")
      .frames({own("distil.py", 30, "soft", "return student * teacher"), train(60)});
  Event student = moved("cuda:0", {train(50, "student.to(\"cuda:0\")")});
  Event teacher = moved("cuda:1", {train(51, "teacher.to(\"cuda:1\")")});
  student.op = teacher.op = "Module.to";
  context.operand("self", "student", OperandKind::kLocal, "cuda:0",
                  {computed("cuda:0", "aten::addmm", ""), std::move(student)});
  context.operand("other", "teacher", OperandKind::kLocal, "cuda:1",
                  {computed("cuda:1", "aten::addmm", ""), std::move(teacher)});
  return context;
}

Event dropped(Device device) {
  Event event = moved(std::move(device), {own("distil.py", 12, "Teacher.scores", "answer.to(self.client)")});
  event.op = "Tensor.to";
  event.followed = "answer";
  event.discarded = true;
  event.amended = "answer = answer.to(self.client)";
  return event;
}

}  // namespace

TEST(HostBoundary, AResultIsDroppedInTheFunctionThatReturnedIt) {
  Case context = scores_of_two_models();
  expect_code(context, "DV101");
  context.facts.failure.operands[1].copies = {dropped("cuda:0")};
  const auto finding = expect_code(context, "DV103");
  expect_operand(context, finding, "teacher");
  expect_evidence(finding, "`answer` was moved, at distil.py:12, but the result was discarded");
  ASSERT_TRUE(finding.fixes.front().edit);
  EXPECT_EQ(finding.fixes.front().edit->line, 12);
  EXPECT_EQ(finding.fixes.front().edit->after, "answer = answer.to(self.client)");
}

TEST(HostBoundary, AMoveToAThirdPlaceIsNotMissed) {
  Case context = scores_of_two_models();
  context.facts.failure.operands[1].copies = {dropped("cuda:2")};
  EXPECT_NE(diagnose(context.facts).front().code, "DV103");
}

TEST(HostBoundary, WhatAnObjectReturnedIsNoTensor) {
  Case context = scores_of_two_models();
  Event object = dropped("cuda:0");
  object.op = "Scores.to";
  object.amended.clear();
  context.facts.failure.operands[1].copies = {object};
  expect_evidence(expect_code(context, "DV103"), "its `to` returns another object");
}

TEST(SingleDevice, AMoveToWhereItWasIsTheLastWord) {
  Case context = scores_of_two_models();
  Event idle = moved("cuda:1", {own("distil.py", 28, "Pair.forward", "scores = self.ask(x).to(self.device)")});
  idle.from = "cuda:1";
  idle.op = "Tensor.to";
  idle.device_text = "self.device";
  idle.device_value = "next(self.parameters()).device";
  idle.device_value_at = "distil.py:20";
  idle.followed = "scores";
  idle.amended = "scores = self.ask(x).to(student.device)";
  auto& provenance = context.facts.failure.operands[1].provenance;
  provenance.insert(provenance.begin() + 1, idle);
  const auto finding = expect_code(context, "DV101");
  expect_operand(context, finding, "teacher");
  expect_evidence(finding,
                  "`scores` was sent to `self.device`, at distil.py:28, which is cuda:1, where it already was");
  expect_evidence(finding, "`next(self.parameters()).device`, at distil.py:20");
  ASSERT_TRUE(finding.fixes.front().edit);
  EXPECT_EQ(finding.fixes.front().edit->after, "scores = self.ask(x).to(student.device)");
}

TEST(GeneratorOrDefaultDevice, ASamplerWasGivenTheGeneratorOfTheGpu) {
  Case context;
  context
      .fails("aten::randperm", "Expected a 'cpu' device type for generator but found 'cuda'", SentenceKind::kGenerator)
      .frames({lib("torch", "torch/utils/data/sampler.py", 190, "RandomSampler.__iter__"), train(30)});
  Event given = event(EventKind::kShared, "cuda:0", "", {own("data.py", 8, "loader", "generator=self.noise)")});
  given.op = "RandomSampler";
  given.amended = "generator=torch.Generator().manual_seed(self.noise.initial_seed()))";
  context.operand("generator", "self.noise", OperandKind::kGenerator, "cuda:0",
                  {given, made("cuda:0", {train(12, "self.noise = torch.Generator(\"cuda:0\")")})});
  const auto finding = expect_code(context, "DV111");
  expect_evidence(finding, "`self.noise` was made on cuda:0, at train.py:12.");
  expect_evidence(finding, "`self.noise` was given to `RandomSampler`, at data.py:8");
  ASSERT_TRUE(finding.fixes.front().edit);
  EXPECT_EQ(finding.fixes.front().edit->line, 8);
}

}  // namespace devsan::diagnose::test
