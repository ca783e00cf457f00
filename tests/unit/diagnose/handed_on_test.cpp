// Which of two sides has to come to the other: what a stage left behind, a teacher's result, a table, several operands.

#include "diagnose/programs.h"

namespace devsan::diagnose::test {

namespace {

const Frame kMove = own("net.py", 56, "Net.forward", "x = x.to(self.second)");
const Frame kJoin = own("net.py", 58, "Net.forward", "x = self.up(torch.cat([skip, x]))", "");

/// A forward pass that moved `x` on, and joins it with what it had computed before.
Case over_two_stages(const Device& second) {
  Case context;
  context.mixes("aten::cat", "cuda:0", "cuda:1").frames({kJoin, call_impl(), train(20)});
  context.module("", "Net");
  context.module("down", "Linear", {weight("cuda:0")});
  context.module("up", "Linear", {weight(second)});
  Event first = moved("cuda:0", {own("net.py", 51, "Net.forward", "x = x.to(self.first)")});
  first.from = "cpu";
  first.sequence = 1;
  Event on = moved("cuda:1", {kMove});
  on.from = "cuda:0";
  on.device_text = "self.second";
  on.sequence = 2;
  context.operand("tensors[0]", "skip", OperandKind::kLocal, "cuda:0", {computed("cuda:0", "aten::addmm", "x"), first});
  context.operand("tensors[1]", "x", OperandKind::kLocal, "cuda:1", {computed("cuda:1", "aten::relu", "x"), on, first})
      .offending = true;
  return context;
}

}  // namespace

TEST(HandedOn, WhatWasComputedBeforeTheMoveIsLeftBehind) {
  const Case context = over_two_stages("cuda:1");
  const auto finding = expect_code(context, "DV101");
  expect_operand(context, finding, "skip");
  expect_evidence(finding, "`x` was moved from cuda:0 to cuda:1, where the next part of the model is, at net.py:56");
  EXPECT_EQ(finding.fixes.front().text.text(), "move `skip` to the device of `x` before they are combined");
}

TEST(HandedOn, TheMoveMayBeThatOfTheModuleAround) {
  Case context = over_two_stages("cuda:1");
  Frame joined = own("net.py", 31, "Up.forward", "x = torch.cat([skip, x])", "up");
  Frame around = own("net.py", 57, "Net.forward", "x = self.up(x, skip)");
  context.frames({joined, call_impl(), around, call_impl(), train(20)});
  expect_operand(context, expect_code(context, "DV101"), "skip");
  around.span.line = 55;  // before the move
  context.frames({joined, call_impl(), around, call_impl(), train(20)});
  expect_operand(context, expect_code(context, "DV101"), "x");
}

TEST(HandedOn, WhichOfTheTwoTorchNamesDoesNotMatter) {
  Case context = over_two_stages("cuda:1");
  context.facts.failure.operands[0].offending = true;
  context.facts.failure.operands[1].offending = false;
  const auto finding = expect_code(context, "DV101");
  expect_operand(context, finding, "skip");
  expect_evidence(finding, "`x` was moved from cuda:0 to cuda:1, where the next part of the model is, at net.py:56");
}

TEST(HandedOn, WhatIsMadeBehindTheMoveWasNotLeftBehind) {
  Case context = over_two_stages("cuda:1");
  Event late = made("cuda:0", {own("net.py", 57, "Net.forward", "skip = torch.ones(4, device=\"cuda:0\")")});
  late.op = "aten::ones";
  late.device_text = "\"cuda:0\"";
  late.sequence = 3;
  context.facts.failure.operands[0].provenance = {late};
  EXPECT_EQ(text_of({expect_code(context, "DV101")}).find("has stayed on"), std::string::npos);
  context.facts.failure.operands[0].provenance.front().sequence = 1;
  EXPECT_NE(text_of({expect_code(context, "DV101")}).find("has stayed on"), std::string::npos);
}

TEST(HandedOn, WhatTheFailingFunctionMadeComesToTheOthers) {
  Case context;
  const Frame failing = own("scatter.py", 25, "Lookup.backward", "grad.index_add_(0, rows, values)");
  context.mixes("aten::index_add_", "cuda:0", "cuda:1").frames({failing, own("train.py", 91, "<module>", "")});
  Event here = made("cuda:0", {own("scatter.py", 24, "Lookup.backward", "grad = torch.zeros(6, 3, device=device)")});
  here.device_text = "device";
  here.op = "aten::zeros";
  context.operand("self", "grad", OperandKind::kLocal, "cuda:0", {here});
  for (const char* name : {"rows", "values"}) {
    Event sent = moved("cuda:1", {own("train.py", 58, "Tower.forward", "rows.to(item_device)")});
    sent.device_text = "item_device";
    context.operand("other", name, OperandKind::kLocal, "cuda:1", {sent}).offending = true;
  }
  const auto finding = expect_code(context, "DV101");
  expect_operand(context, finding, "grad");
  expect_fix(finding, model::FixKind::kCreationSite, "create `grad` on the device of `rows`");
}

TEST(HandedOn, AFunctionThatHasReturnedGaveBackOneOfTwoElsewhere) {
  Case context;
  context.mixes("aten::gather", "cuda:1", "cuda:0")
      .frames({own("decode.py", 68, "accept", "return q.gather(-1, draft)"), own("decode.py", 98, "<module>", "")});
  Event model = moved("cuda:1", {own("decode.py", 25, "Drafter.__init__", "self.model = model.to(device)")});
  model.op = "Module.to";
  model.device_text = "device";
  context.operand("self", "q", OperandKind::kInput, "cuda:1", {computed("cuda:1", "aten::stack", "probs"), model});
  Event back = moved("cuda:0", {own("decode.py", 42, "Drafter.propose", "return ids.to(where), q")});
  back.from = "cuda:1";
  back.device_text = "where";
  context.operand("index", "draft", OperandKind::kInput, "cuda:0", {back}).offending = true;
  const auto finding = expect_code(context, "DV101");
  expect_operand(context, finding, "q");
  expect_evidence(finding, "`draft` was moved from cuda:1 to cuda:0, at decode.py:42; `q` was not moved with it.");
  expect_fix(finding, model::FixKind::kCreationSite, "move `q` as well, where `draft` is moved, at decode.py:42");
}

TEST(HandedOn, AMoveToWhereNoPartOfTheModelIsIsTheMistake) {
  const Case context = over_two_stages("cuda:0");
  expect_operand(context, expect_code(context, "DV101"), "x");
}

TEST(HandedOn, AResultThatNeedsNoGradientComesToTheOther) {
  for (const bool student_first : {true, false}) {
    Case context;
    context.mixes("aten::mul", "cuda:0", "cuda:1").frames({own("train.py", 9, "compare", "return scores * targets")});
    for (const bool student : {student_first, !student_first}) {
      Event placed = moved(student ? "cuda:1" : "cuda:0", {own("train.py", student ? 3 : 2, "<module>", "")});
      placed.op = "Module.to";
      placed.device_text = student ? "STUDENT" : "TEACHER";
      context
          .operand("self", student ? "scores" : "targets", OperandKind::kLocal, placed.device,
                   {computed(placed.device, "aten::addmm", "weight"), placed})
          .requires_grad = student;
    }
    const auto finding = expect_code(context, "DV101");
    expect_operand(context, finding, "targets");
    EXPECT_EQ(finding.fixes.back().text.text(), "move `targets` to the device of `scores` before they are combined");
  }
}

TEST(HandedOn, ATableComesToItsIndices) {
  Case context;
  context.mixes("aten::index", "cuda:0", "cuda:1").frames({own("noise.py", 9, "Schedule.extract", "return table[t]")});
  Event kept = made("cuda:0", {own("noise.py", 3, "Schedule.__init__", "self.table = torch.ones(9, device=device)")});
  Event steps = made("cuda:1", {own("noise.py", 20, "sample", "t = torch.full((4,), 3, device=device)")});
  kept.device_text = steps.device_text = "device";
  context.operand("self", "table", OperandKind::kLocal, "cuda:0", {kept}).bytes = 4096;
  context.operand("indices[0]", "t", OperandKind::kLocal, "cuda:1", {steps}).offending = true;
  const auto finding = expect_code(context, "DV101");
  expect_operand(context, finding, "table");
  EXPECT_EQ(finding.fixes.back().text.text(), "move `table` to the device of `t` before they are combined");
}

TEST(HandedOn, AllThatHasToComeIsNamedAndMoved) {
  Case context;
  context.mixes("aten::index", "cuda:1", "cuda:0").frames({own("net.py", 9, "pick", "return hidden[rows, lengths]")});
  Event literal = made("cuda:0", {own("net.py", 8, "pick", "rows = torch.arange(n, device=\"cuda:0\")")});
  literal.device_text = "\"cuda:0\"";
  context.operand("self", "hidden", OperandKind::kLocal, "cuda:1", {mapped("cuda:1", "layers.2")});
  context.operand("indices[0]", "rows", OperandKind::kLocal, "cuda:0", {literal}).offending = true;
  context.operand("indices[1]", "lengths", OperandKind::kLocal, "cuda:0");
  const auto finding = expect_code(context, "DV102");
  EXPECT_EQ(finding.fixes.front().confidence, model::Confidence::kPossible) << "`rows` alone is not enough";
  const auto& fix = finding.fixes.back();
  EXPECT_EQ(fix.text.text(), "move `rows` and `lengths` to the device of `hidden` before they are combined");
  ASSERT_TRUE(fix.edit);
  EXPECT_EQ(fix.edit->after, "return hidden[rows.to(hidden.device), lengths.to(hidden.device)]");
}

TEST(HandedOn, WhatALibraryMadeOfTheInputComesWithIt) {
  Case context;
  context.mixes("aten::gru", "cuda:1", "cuda:0").frames({own("net.py", 9, "Net.forward", "return self.rnn(x)")});
  Event literal = made("cuda:1", {own("net.py", 8, "Net.forward", "x = torch.ones(n, device=\"cuda:1\")")});
  literal.device_text = "\"cuda:1\"";
  auto& input = context.operand("input", "x", OperandKind::kLocal, "cuda:1", {literal});
  input.span = {9, 17, 9, 18};
  input.offending = true;
  context.operand("hx", "hx", OperandKind::kLocal, "cuda:1").span = {1442, 17, 1442, 19};
  context.operand("params[0]", "self.rnn.weight_ih_l0", OperandKind::kParameter, "cuda:0", {mapped("cuda:0", "rnn")});
  const auto finding = expect_code(context, "DV102");
  EXPECT_EQ(finding.fixes.front().confidence, model::Confidence::kLikely) << "nothing else has to come";
}

}  // namespace devsan::diagnose::test
