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

}  // namespace devsan::diagnose::test
