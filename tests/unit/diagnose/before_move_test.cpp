// What a later move, or the removal of hooks, left behind: old buffers, averages, a module that someone else moved.

#include "diagnose/programs.h"

namespace devsan::diagnose::test {

namespace {

Event placed_by(const Device& device, const Frame& line, std::uint64_t sequence) {
  Event event = moved(device, {line});
  event.op = "Module.to";
  event.device_text = "\"" + device.str() + "\"";
  event.sequence = sequence;
  return event;
}

const Event kFirst = placed_by("cuda:0", own("train.py", 20, "main", "net = Net().to(\"cuda:0\")"), 5);
const Event kThen = placed_by("cuda:1", own("train.py", 23, "main", "net.to(\"cuda:1\")"), 9);

}  // namespace

TEST(BeforeMove, ABufferThatSomeoneHadCollected) {
  Case context;
  context.mixes("aten::native_batch_norm", "cuda:1", "cuda:0").frames({forward("return self.blocks(x)"), train(30)});
  context.model().placements = {kFirst, kThen};
  context.operand("input", "x", OperandKind::kInput, "cuda:1",
                  {moved("cuda:1", {own("train.py", 27, "main", "x = x.to(device)")})});
  context.operand("running_mean", "running_mean", OperandKind::kTemporary, "cuda:0", {kFirst}).offending = true;
  const auto finding = expect_code(context, "DV113");
  expect_operand(context, finding, "running_mean");
  expect_evidence(finding, "The model was then moved to cuda:1, at train.py:23");
  expect_fix(finding, model::FixKind::kCreationSite, "collect the buffers after the model is moved");
}

TEST(BeforeMove, AResultOfTheModelIsNoneOfItsBuffers) {
  Case context;
  context.mixes("aten::add.Tensor", "cuda:1", "cuda:0").frames({train(30, "total = old + new")});
  context.model().placements = {kFirst, kThen};
  context.operand("self", "old", OperandKind::kLocal, "cuda:0", {computed("cuda:0", "aten::addmm", ""), kFirst});
  context.operand("other", "new", OperandKind::kLocal, "cuda:1", {computed("cuda:1", "aten::addmm", ""), kThen});
  const auto findings = diagnose(context.facts);
  ASSERT_FALSE(findings.empty());
  EXPECT_NE(findings.front().code, "DV113");
}

TEST(BeforeMove, AnAverageThatWasTakenBeforeTheMap) {
  Case context;
  context.mixes("aten::add_.Tensor", "cuda:0", "cuda:1").frames({own("ema.py", 33, "EMA.update")});
  context.operand("self", "self.shadow[name]", OperandKind::kOptimizerState, "cuda:0",
                  {computed("cuda:0", "aten::clone", ""), kFirst});
  Operand& weight = context.operand("other", "p", OperandKind::kParameter, "cuda:1", {mapped("cuda:1", "h.2"), kFirst});
  weight.qualified_name = "h.2.weight";
  weight.offending = true;
  const auto finding = expect_code(context, "DV110");
  expect_evidence(finding, "It was taken while `p` was on cuda:0, before that was moved to cuda:1, at load.py:8");
}

TEST(BeforeMove, AModuleThatAnotherFunctionMovedInPlace) {
  Case context;
  context.mixes("aten::convolution", "cuda:0", "cuda:1").frames({forward("return self.conv(x)"), train(93)});
  context.module("", "Net", {weight("cuda:1")});
  Event x = made("cuda:0", {own("data.py", 39, "batch", "torch.rand(4, 1, 8, 8, device=device)")});
  x.device_text = "device";
  context.operand("input", "x", OperandKind::kInput, "cuda:0", {x});
  const Event first = placed_by("cuda:0", own("train.py", 82, "Fitter.__init__", "self.model = model.to(device)"), 5);
  const Event second = placed_by("cuda:1", own("train.py", 68, "score", "net = model.to(self.device).eval()"), 9);
  Operand& conv = context.operand("weight", "self.conv.weight", OperandKind::kParameter, "cuda:1", {second, first});
  conv.qualified_name = "conv.weight";
  conv.offending = true;
  const auto finding = expect_code(context, "DV101");
  ASSERT_FALSE(finding.evidence.empty());
  EXPECT_EQ(finding.evidence.front().text(),
            "`self.conv.weight` was moved twice: to cuda:0, at train.py:82, then to cuda:1, at train.py:68.");
  EXPECT_EQ(finding.fixes.front().text.text(),
            "leave the module on cuda:0: `to` moves it in place, at train.py:68; move a copy of it (copy.deepcopy), or "
            "move it back when that is done");
}

TEST(BeforeMove, AMapWhoseHooksWereRemoved) {
  Case context;
  context.mixes("aten::mul", "cuda:1", "cuda:0").frames({forward("return self.weight * x"), train(54)});
  context.module("layers.2.norm", "RMSNorm", {weight("cuda:1")});
  context.map({{"layers.0", "cuda:0"}, {"layers.2", "cuda:1"}});
  context.operand("other", "x", OperandKind::kInput, "cuda:0",
                  {computed("cuda:0", "aten::add", ""), mapped("cuda:0", "layers.0")});
  Operand& own_weight =
      context.operand("self", "self.weight", OperandKind::kParameter, "cuda:1", {mapped("cuda:1", "layers.2")});
  own_weight.qualified_name = "layers.2.norm.weight";
  model::Setting removal;
  removal.name = removal.value = "remove_hook_from_submodules";
  removal.where = own("edit.py", 70, "", "remove_hook_from_submodules(model)");
  context.facts.settings.push_back(removal);
  const auto finding = expect_code(context, "DV105");
  expect_evidence(finding, "`remove_hook_from_submodules` has removed the hooks, at edit.py:70");
  expect_fix(finding, model::FixKind::kConfiguration, "dispatch the model again");
}

}  // namespace devsan::diagnose::test
