// What a move, a dispatch or a wrapper does not reach: state that is no module's, and parts of the model.

#include "diagnose/programs.h"

namespace devsan::diagnose::test {

using model::FixKind;

TEST(UnregisteredState, APlainObjectOfAModuleKeepsIt) {
  Case context;
  context.module("", "Quantizer", {weight("cuda:0")});
  context.mixes("aten::mm", "cuda:0", "cpu").frames({forward("return x @ self.codes.t()"), train(40)});
  context.operand("self", "x", OperandKind::kInput, "cuda:0");
  Operand& codes = context.operand("mat2", "self.codes", OperandKind::kAttribute, "cpu",
                                   {made("cpu", {own("net.py", 5, "Codes.__init__", "self.codes = torch.ones(8)")})});
  codes.holder = "Quantizer";
  codes.kept_as = "codes_of_frames.codes";
  const auto finding = expect_code(context, "DV108");
  expect_evidence(finding, "`codes_of_frames` is a plain object that Quantizer keeps");
  expect_fix(finding, FixKind::kCreationSite, "make the class of `codes_of_frames` an nn.Module");
  context.facts.failure.operands.back().kept_as = "codes_of_frames['a.b']";  // an element of a dict
  expect_evidence(expect_code(context, "DV108"), "a plain attribute of Quantizer");
}

TEST(UnregisteredState, ItsPathIsToldWhereAParameterIsCalledOtherwise) {
  Case context;
  context.module("", "Net", {weight("cuda:0")});
  context.module("warp", "Warp", {weight("cuda:0")});
  context.mixes("aten::add", "cuda:0", "cpu").frames({own("net.py", 9, "sample", "return x + grid"), train(40)});
  context.operand("self", "x", OperandKind::kLocal, "cuda:0");
  Operand& grid = context.operand("other", "grid", OperandKind::kAttribute, "cpu",
                                  {made("cpu", {own("net.py", 5, "Warp.__init__", "self.table = torch.ones(8)")})});
  grid.holder = "warp";
  grid.kept_as = "warp.table";
  grid.override_at = own("net.py", 12, "Warp.to", "def to(self, *args, **kwargs):");
  const auto finding = expect_code(context, "DV108");
  expect_evidence(finding, "`grid` is `warp.table`, a plain attribute of warp");
  expect_evidence(finding, "`Warp.to`, at net.py:12, moves it, but is called only on warp itself");
  expect_fix(finding, FixKind::kCreationSite, "override `_apply`");
}

TEST(UnregisteredState, ACheckpointPutItThere) {
  Case context;
  context.module("", "Net", {weight("cuda:1")});
  context.mixes("aten::sub", "cuda:1", "cuda:0").frames({forward("return x - self.mean"), train(40)});
  context.operand("self", "x", OperandKind::kInput, "cuda:1");
  Event loaded = event(EventKind::kLoaded, "cuda:0", "torch.load",
                       {own("net.py", 20, "load", "saved = torch.load(file, map_location='cuda:0')[\"mean\"]")});
  loaded.owner.setting = "map_location='cuda:0'";
  Operand& mean = context.operand("other", "self.mean", OperandKind::kAttribute, "cuda:0", {loaded});
  mean.holder = "Net";
  mean.kept_as = "mean";
  const auto finding = expect_code(context, "DV108");
  expect_evidence(finding, "torch.load put it on cuda:0, at net.py:20: `map_location='cuda:0'`.");
  expect_fix(finding, FixKind::kCreationSite, "load it to where `x` is: map_location=\"cuda:1\"");
  EXPECT_FALSE(finding.fixes.front().edit);
  context.facts.failure.operands.back().device_there = "device";
  const auto named = expect_code(context, "DV108");
  ASSERT_TRUE(named.fixes.front().edit);
  EXPECT_EQ(named.fixes.front().edit->after, "saved = torch.load(file, map_location=device)[\"mean\"]");
}

TEST(StaleDeviceCache, AClassKeepsWhatOneInstanceComputed) {
  Case context;
  context.mixes("aten::lerp", "cuda:0", "cuda:1")
      .frames({own("norm.py", 9, "Norm.update", "cls.mean = torch.lerp(cls.mean, mean, 0.1)"), train(40)});
  Event moved_part = moved("cuda:0", {own("norm.py", 30, "Stage.__init__", "self.to(device)"), train(5)});
  moved_part.op = "Module.to";
  context
      .operand("self", "cls.mean", OperandKind::kGlobal, "cuda:0", {computed("cuda:0", "aten::mean", "x"), moved_part})
      .kept_as = "Norm.mean";
  context.operand("end", "mean", OperandKind::kLocal, "cuda:1", {computed("cuda:1", "aten::mean", "x")});
  const auto finding = expect_code(context, "DV113");
  expect_evidence(finding, "`Norm.mean` is kept on the class: all instances of `Norm` share it");
  expect_fix(finding, FixKind::kCreationSite, "keep `Norm.mean` in each instance");
}

TEST(MapGap, FsdpWasToldToIgnoreIt) {
  Case context;
  context.model().expression = "model";
  context.module("", "FSDPTagger");
  context.module("table", "Embedding", {weight("cpu")});
  context.module("head", "FSDPLinear", {weight("cuda:0")});
  context.mixes("aten::index_select", "cpu", "cuda:0").frames({forward("x = self.table(words)"), train(40)});
  Operand& table =
      context.operand("self", "self.table.weight", OperandKind::kParameter, "cpu",
                      {made("cpu", {own("net.py", 5, "Net.__init__", "self.table = nn.Embedding(9, 8)")})});
  table.qualified_name = "table.weight";
  table.ignored_at = own("train.py", 12, "train", "fully_shard(model, ignored_params=frozen)");
  context.operand("index", "words", OperandKind::kInput, "cuda:0");
  const auto finding = expect_code(context, "DV105");
  expect_evidence(finding, "FSDP was told at train.py:12 what it has to ignore");
  expect_fix(finding, FixKind::kConfiguration, "model.table.to(torch.cuda.current_device())");
  // What was made when the others had been moved was put in later, whatever FSDP had ignored.
  Event sharded = moved("cuda:0", {train(12)});
  sharded.sequence = 4;
  context.model().placements = {sharded};
  context.facts.failure.operands.front().provenance.front().sequence = 9;
  EXPECT_EQ(expect_code(context, "DV105").evidence.front().text().find("ignore"), std::string::npos);
}

TEST(MapGap, OnlyAnInnerPartWasPlaced) {
  Case context;
  context.model().expression = "model";
  context.model().type = "Prefixed";
  context.module("", "Prefixed");
  context.module("backbone", "Backbone");
  context.module("backbone.layer", "Linear", {weight("cuda:0")});
  context.module("prefix", "Sequential");
  context.module("prefix.table", "Embedding", {weight("cpu")});
  Event placed = moved("cuda:0", {own("train.py", 7, "<module>", "model.backbone.to(\"cuda:0\")")});
  placed.op = "Module.to";
  placed.subject = "backbone";
  context.model().placements = {placed};
  context.mixes("aten::cat", "cpu", "cuda:0").frames({forward("x = torch.cat([prefix, tokens])"), train(40)});
  context.operand("tensors[0]", "prefix", OperandKind::kLocal, "cpu",
                  {computed("cpu", "aten::embedding", "prefix.table.weight"), made("cpu", {train(3)})});
  context.operand("tensors[1]", "tokens", OperandKind::kLocal, "cuda:0");
  const auto finding = expect_code(context, "DV105");
  expect_evidence(finding, "Only `backbone` was placed, by this program, at train.py:7; `prefix` is outside of it");
  expect_fix(finding, FixKind::kConfiguration, "model.prefix.to(\"cuda:0\")");
  // An adapter's prompts, of which no path is known: they are of the only module that is left.
  Operand& prompts = context.facts.failure.operands.front();
  prompts.name = "prompts";
  prompts.provenance = {made("cpu", {lib("peft", "peft/peft_model.py", 900, "PeftModel.get_prompt")}, "peft")};
  expect_fix(expect_code(context, "DV109"), FixKind::kConfiguration, "model.prefix.to(\"cuda:0\")");
}

TEST(MapGap, AWeightOfAModuleAroundADispatchedOneMovesAlone) {
  Case context;
  context.mixes("aten::cat", "cuda:0", "cpu")
      .frames(
          {own("net.py", 20, "SoftPrompt.forward", "x = torch.cat([self.prompt, embeds])"), call_impl(), train(40)});
  context.module("", "SoftPrompt", {weight("cpu", "prompt")});
  context.module("model.embed", "Embedding", {weight("cuda:0")}, "cuda:0");
  auto& prompt = context.operand("tensors[0]", "self.prompt", OperandKind::kParameter, "cpu");
  prompt.qualified_name = "prompt";
  prompt.offending = true;
  context.operand("tensors[1]", "embeds", OperandKind::kLocal, "cuda:0");
  expect_fix(expect_code(context, "DV105"), FixKind::kCreationSite, "move `self.prompt` alone");
}

}  // namespace devsan::diagnose::test
