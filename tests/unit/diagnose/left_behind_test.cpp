// What did not come along: a result of one part of the model, what took a weight's place, a loss of another GPU.

#include "diagnose/programs.h"

namespace devsan::diagnose::test {

namespace {

/// What a part of the model computes that `line` put on `device`.
model::Provenance result_of_part(const Device& device, const Frame& line) {
  Event placed = moved(device, {line});
  placed.op = "Module.to";
  placed.device_text = "\"" + device.str() + "\"";
  return {computed(device, "aten::addmm", "self.weight"), placed};
}

const Frame kFirst = own("net.py", 7, "Net.__init__", "self.down = nn.Linear(8, 8).to(\"cuda:0\")");
const Frame kSecond = own("net.py", 9, "Net.__init__", "self.mid = nn.Linear(8, 8).to(\"cuda:1\")");

}  // namespace

TEST(LeftBehind, AResultOfAnotherPart) {
  Case context;
  context.mixes("aten::cat", "cuda:0", "cuda:1").frames({forward("return self.up(torch.cat([h, skip], dim=-1))")});
  context.operand("tensors[0]", "h", OperandKind::kLocal, "cuda:1", result_of_part("cuda:1", kSecond));
  context.operand("tensors[1]", "skip", OperandKind::kLocal, "cuda:0", result_of_part("cuda:0", kFirst)).offending =
      true;
  const auto finding = expect_code(context, "DV101");
  EXPECT_EQ(finding.title.text(), "`skip` is a result of the part of the model on cuda:0, `h` of the part on cuda:1");
  expect_evidence(finding, "`skip` was computed on cuda:0, by a part of the model that was put there, at net.py:7");
  expect_evidence(finding, "`h` was computed on cuda:1");
}

TEST(LeftBehind, TheResultThatIsAloneHasNotComeAlong) {
  Case context;
  context.mixes("aten::index_add_", "cuda:0", "cuda:1").frames({forward("out.index_add_(0, index, y * gate)")});
  context.operand("self", "out", OperandKind::kLocal, "cuda:0", result_of_part("cuda:0", kFirst));
  context.operand("index", "index", OperandKind::kLocal, "cuda:0", result_of_part("cuda:0", kFirst));
  context.operand("source", "y * gate", OperandKind::kTemporary, "cuda:1", result_of_part("cuda:1", kSecond))
      .offending = true;
  const auto finding = expect_code(context, "DV101");
  expect_operand(context, finding, "y * gate");
  ASSERT_TRUE(finding.fixes.back().edit);
  EXPECT_EQ(finding.fixes.back().edit->after.rfind("out.index_add_(0, index, (y * gate).to(", 0), 0U);
}

TEST(LeftBehind, ALossOfAnotherPart) {
  Case context;
  context.mixes("aten::add.Tensor", "cuda:0", "cuda:1").frames({own("train.py", 14, "step", "return recon + cls")});
  Operand& one = context.operand("self", "recon", OperandKind::kLocal, "cuda:0", result_of_part("cuda:0", kFirst));
  one.shape = std::vector<std::int64_t>{};
  one.requires_grad = true;
  context.operand("other", "cls", OperandKind::kLocal, "cuda:1", result_of_part("cuda:1", kSecond)).shape =
      std::vector<std::int64_t>{1};
  const auto finding = expect_code(context, "DV104");
  EXPECT_EQ(finding.title.text(), "`cls` is a loss on cuda:1, `recon` is one on cuda:0");
  expect_evidence(finding, "The operation adds up losses.");
}

TEST(LeftBehind, NumbersThatNobodyTrainsWithAreNoLosses) {
  Case context;
  context.mixes("aten::add.Tensor", "cuda:0", "cuda:1").frames({own("train.py", 14, "score", "return first + second")});
  for (const char* device : {"cuda:0", "cuda:1"}) {
    context
        .operand("self", device == std::string("cuda:0") ? "first" : "second", OperandKind::kLocal, device,
                 result_of_part(device, kFirst))
        .shape = std::vector<std::int64_t>{};
  }
  expect_code(context, "DV101");
}

TEST(LeftBehind, ABufferThatWasReplaced) {
  Case context;
  context.mixes("aten::sub.Tensor", "cuda:1", "cpu").frames({forward("return x - self.mean"), train(26)});
  context.module("", "Net", {weight("cuda:1"), buffer("cpu", "mean")});
  Event whole = moved("cuda:1", {own("train.py", 22, "<module>", "model = Net().to(\"cuda:1\")")});
  whole.op = "Module.to";
  context.model().placements = {whole};
  context.operand("self", "x", OperandKind::kInput, "cuda:1");
  Operand& mean = context.operand("other", "self.mean", OperandKind::kBuffer, "cpu",
                                  {made("cpu", {own("train.py", 21, "<module>", "data = torch.randn(64, 8)")})});
  mean.qualified_name = "mean";
  mean.replaced_at = own("net.py", 10, "Net.fit", "self.mean = data.mean(0)");
  const auto finding = expect_code(context, "DV105");
  EXPECT_EQ(finding.title.text(), "`self.mean` was replaced by a tensor on cpu after the model was moved to cuda:1");
  expect_evidence(finding, "`self.mean` was replaced by a tensor on the CPU, at net.py:10");
}

TEST(LeftBehind, AModelWhoseWeightsWereReplaced) {
  Case context;
  context.mixes("aten::addmm", "cuda:1", "cpu").frames({own("train.py", 12, "<module>", "loss = model(x).sum()")});
  context.module("", "Net", {weight("cpu")});
  context.model().expression = "model";
  context.operand("mat1", "x", OperandKind::kInput, "cuda:1");
  Operand& own_weight = context.operand("mat2", "", OperandKind::kParameter, "cpu");
  own_weight.qualified_name = "weight";
  own_weight.replaced_at = own("train.py", 8, "<module>", "model.load_state_dict(state, assign=True)");
  const auto finding = expect_code(context, "DV103");
  expect_evidence(finding, "`weight` was put there at train.py:8, in the place of the one that the model had");
  expect_fix(finding, model::FixKind::kCreationSite, "move the model after its weights were replaced");
}

TEST(LeftBehind, AWeightThatACheckpointReplaced) {
  Case context;
  context.mixes("aten::native_layer_norm", "cuda:1", "cuda:0").frames({forward("return self.norm(x)"), train(60)});
  context.module("", "Net", {weight("cuda:0")});
  Event x = moved("cuda:1", {own("net.py", 45, "Net.forward", "x = self.lower(x).to(self.upper_device)")});
  x.device_text = "self.upper_device";
  context.operand("input", "x", OperandKind::kLocal, "cuda:1", {x}).offending = true;
  Event read =
      event(EventKind::kLoaded, "cuda:0", "torch.load", {own("load.py", 55, "load", "state = torch.load(path)")});
  Operand& norm = context.operand("weight", "self.norm.weight", OperandKind::kParameter, "cuda:0", {read});
  norm.qualified_name = "norm.weight";
  norm.replaced_at = own("load.py", 56, "load", "model.load_state_dict(state, assign=True)");
  const auto finding = expect_code(context, "DV105");
  expect_operand(context, finding, "self.norm.weight");
  expect_evidence(finding, "read from a checkpoint to cuda:0, at load.py:55");
  expect_fix(finding, model::FixKind::kCreationSite, "without assign=True");
}

TEST(LeftBehind, WhatTheProgramTookOffItsGpu) {
  Case context;
  context.mixes("aten::lstm", "cuda:0", "cpu")
      .frames({forward("x, self.states[i] = rnn(x, self.states[i])"), train(9)});
  context.operand("input", "x", OperandKind::kLocal, "cuda:0");
  Event taken = moved("cpu", {own("net.py", 34, "Net.snapshot", "self.states[i] = (h.cpu(), c.cpu())"), train(7)});
  taken.from = "cuda:0";
  context.operand("hx[0]", "self.states[i][0]", OperandKind::kAttribute, "cpu", {taken}).holder = "Net";
  const auto finding = expect_code(context, "DV103");
  expect_evidence(finding, "was moved to the CPU, at net.py:34, and is kept there");
}

TEST(LeftBehind, APartOfABatch) {
  Case context;
  context.mixes("aten::scatter_add", "cuda:0", "cpu")
      .frames({own("net.py", 44, "segment_sum", "return out.scatter_add(0, index, x)"), train(9)});
  context.operand("src", "x", OperandKind::kLocal, "cuda:0");
  Operand& index = context.operand("index", "index", OperandKind::kInput, "cpu",
                                   {made("cpu", {own("data.py", 32, "random_batch", "torch.arange(n_groups)")})});
  index.left_in = "batch.pool_index[0]";
  index.moved_part = "batch.atoms";
  const auto finding = expect_code(context, "DV103");
  expect_evidence(finding, "`index` is `batch.pool_index[0]`, on the CPU; `batch.atoms` beside it is on a GPU");
  expect_fix(finding, model::FixKind::kCreationSite, "its lists and dictionaries");
}

TEST(LeftBehind, APartOfABatchByItsOwnName) {
  Case context;
  context.mixes("aten::lt", "cuda:0", "cpu").frames({own("net.py", 12, "run", "steps < batch.lengths"), train(20)});
  context.operand("steps", "steps", OperandKind::kLocal, "cuda:0");
  Operand& lengths = context.operand("lengths", "batch.lengths", OperandKind::kInput, "cpu",
                                     {made("cpu", {own("data.py", 8, "collate", "torch.tensor(lengths)")})});
  lengths.left_in = "batch.lengths";
  lengths.moved_part = "batch.tokens";
  expect_evidence(expect_code(context, "DV103"), "`batch.lengths` is on the CPU; `batch.tokens` beside it is on a GPU");
}

TEST(LeftBehind, AGradientThatABackwardDidNotBringBack) {
  Case context;
  context.fails(
      "", "Function TransferBackward returned an invalid gradient at index 0 - expected device cuda:0 but got cuda:1",
      SentenceKind::kGradient, Phase::kBackward);
  context.frames({train(83, "loss.backward()")});
  context.operand("tensor", "x", OperandKind::kTemporary, "cuda:0");
  context.operand("gradient", "grad_output * ctx.scale", OperandKind::kTemporary, "cuda:1").offending = true;
  const auto finding = expect_code(context, "DV101");
  expect_operand(context, finding, "grad_output * ctx.scale");
  expect_evidence(finding, "a backward returns the gradient of `x` on the device of `x`, cuda:0");
}

TEST(LeftBehind, AMemberThatIsAloneWhereItIs) {
  Case context;
  context.mixes("aten::index", "cuda:0", "cuda:1").frames({own("sample.py", 49, "gather", "return table[t]")});
  Event made_there = made("cuda:0", {own("sample.py", 33, "cosine", "grid = torch.linspace(0, 1, n, device=device)")});
  made_there.device_text = "device";
  Operand& table = context.operand("self", "table", OperandKind::kLocal, "cuda:0", {made_there});
  table.member = "self.schedule";
  table.member_of = "Sampler";
  table.member_home = "cuda:1";
  table.member_given = own("sample.py", 120, "main", "schedule");
  Event full = made("cuda:1", {own("sample.py", 109, "Sampler.sample", "t = torch.full((n,), 3, device=self.device)")});
  full.device_text = "self.device";
  full.device_value = "cfg.sample_device";
  context.operand("indices", "t", OperandKind::kLocal, "cuda:1", {full}).offending = true;
  const auto finding = expect_code(context, "DV101");
  expect_operand(context, finding, "table");
  EXPECT_EQ(finding.evidence.front().text(),
            "Sampler was given `self.schedule`, which holds `table`, on cuda:0, at sample.py:120; everything else that "
            "it has is on cuda:1.");
  EXPECT_EQ(finding.fixes.front().text.text(),
            "give Sampler a `self.schedule` of its own on cuda:1, at sample.py:120, or move it there");
}

TEST(LeftBehind, AMemberThatItsObjectMadeWasNotGiven) {
  Case context;
  context.mixes("aten::index", "cuda:0", "cuda:1")
      .frames({own("replay.py", 23, "Replay.sample", "return self.rew[t]")});
  Event made_there = made("cuda:0", {own("replay.py", 11, "Replay.__init__", "self.rew = torch.zeros(n, device=rew)")});
  made_there.device_text = "rew";
  Operand& kept = context.operand("self", "self.rew", OperandKind::kAttribute, "cuda:0", {made_there});
  kept.member = "self.rew";
  kept.member_of = "Replay";
  kept.member_home = "cuda:1";
  kept.member_given = own("replay.py", 41, "main", "Replay(32, 4)");
  Event other = made("cuda:1", {own("replay.py", 22, "Replay.sample", "t = torch.randint(9, device=self.obs.device)")});
  other.device_text = "self.obs.device";
  context.operand("indices", "t", OperandKind::kLocal, "cuda:1", {other}).offending = true;
  const auto finding = expect_code(context, "DV101");
  expect_evidence(finding, "`self.rew` is the only member of Replay on cuda:0; all of the others are on cuda:1");
  for (const auto& fix : finding.fixes) EXPECT_EQ(fix.text.text().find("give Replay"), std::string::npos);
}

TEST(LeftBehind, AnAttributeThatReplicasShare) {
  Case context;
  context.mixes("aten::mul", "cuda:1", "cuda:0").frames({forward("cos = cos - onehot * self.margin"), train(51)});
  context.module("", "Net", {weight("cuda:0")});
  context.model().wrappers = {"torch.nn.DataParallel"};
  context.operand("self", "onehot", OperandKind::kLocal, "cuda:1");
  Event kept =
      moved("cuda:0", {own("net.py", 23, "Net.set_margin", "self.margin = m.to(self.weight.device)"), train(40)});
  kept.device_text = "self.weight.device";
  context.operand("other", "self.margin", OperandKind::kAttribute, "cuda:0", {kept}).holder = "Net";
  const auto finding = expect_code(context, "DV108");
  expect_evidence(finding, "DataParallel's replicas share the one of the first GPU");
}

TEST(LeftBehind, AnEntryOfATableThatReplicasShareIsOfAnotherCall) {
  Case context;
  const Frame add = forward("return x + self.positions(x.size(1), x.device)");
  Frame in_thread = add;  // as the text of its traceback tells it
  in_thread.function = "forward";
  context.mixes("aten::add", "cuda:1", "cuda:0").frames({in_thread, train(36)});
  context.module("", "Net", {weight("cuda:0")});
  context.model().wrappers = {"torch.nn.DataParallel"};
  context.operand("self", "x", OperandKind::kLocal, "cuda:1");
  Event made_earlier =
      made("cuda:0", {own("net.py", 18, "Net.positions", "pos = torch.zeros(n, device=device)"), add, train(31)});
  made_earlier.device_text = "device";
  made_earlier.source = model::DeviceSource::kPeer;
  auto& kept = context.operand("other", "self.positions(x.size(1), x.device)", OperandKind::kAttribute, "cuda:0",
                               {made_earlier});
  kept.holder = "Net";
  kept.kept_as = "_pos[7]";
  expect_code(context, "DV113");
}

TEST(LeftBehind, AModuleThatReplicasShare) {
  Case context;
  context.mixes("aten::addmm", "cuda:0", "cuda:1").frames({forward("return torch.cat([h(x) for h in self.heads])")});
  context.module("", "Net", {weight("cuda:0")});
  context.model().wrappers = {"torch.nn.DataParallel"};
  Event put = moved("cuda:0", {lib("torch", "torch/nn/modules/module.py", 1010, "Module._apply"),
                               own("net.py", 10, "Net.__init__", "head.cuda()")});
  context.operand("self", "", OperandKind::kTemporary, "cuda:0", {put});
  Event scattered = moved("cuda:1", {own("net.py", 21, "<module>", "net(x)")}, "torch.nn.DataParallel");
  scattered.owner.mechanism = "scatter";
  context.operand("mat1", "", OperandKind::kTemporary, "cuda:1", {scattered});
  expect_fix(expect_code(context, "DV108"), model::FixKind::kCreationSite, "nn.ModuleList");
}

}  // namespace devsan::diagnose::test
