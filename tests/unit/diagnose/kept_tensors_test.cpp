// Tensors that a module, a cache, an adapter or an optimizer keeps.

#include "diagnose/programs.h"

namespace devsan::diagnose::test {

using model::FixKind;

TEST(UnregisteredState, Lightning3674PlainAttribute) {
  Case context;
  context.module("", "Net", {weight("cuda:0")});
  context.mixes("aten::mul", "cuda:0", "cpu").frames({forward("return x * self.scale"), train(40)});
  context.operand("self", "x", OperandKind::kInput, "cuda:0");
  context
      .operand("other", "self.scale", OperandKind::kAttribute, "cpu",
               {made("cpu", {own("net.py", 10, "Net.__init__", "self.scale = torch.ones(8)"), train(5)})})
      .holder = "net";
  const auto finding = expect_code(context, "DV108");
  expect_fix(finding, FixKind::kCreationSite, "register_buffer");
  expect_evidence(finding, "net.py:10");
}

TEST(UnregisteredState, TheEditLeavesACommentAlone) {
  const auto with = [](const std::string& statement) {
    Case context;
    context.module("", "Net", {weight("cuda:0")});
    context.mixes("aten::mul", "cuda:0", "cpu").frames({forward("return x * self.scale"), train(40)});
    context.operand("self", "x", OperandKind::kInput, "cuda:0");
    context
        .operand("other", "self.scale", OperandKind::kAttribute, "cpu",
                 {made("cpu", {own("net.py", 10, "Net.__init__", statement), train(5)})})
        .holder = "net";
    return expect_code(context, "DV108").fixes.front().edit;
  };
  const auto edit = with("self.scale = torch.ones(8) # a buffer");
  ASSERT_TRUE(edit);
  EXPECT_EQ(edit->before, "self.scale = torch.ones(8)");
  EXPECT_EQ(edit->after, "self.register_buffer(\"scale\", torch.ones(8), persistent=False)");
  EXPECT_FALSE(with("self.scale = torch.ones(8, device=\"cpu#0\")"));
}

TEST(UnregisteredState, TokenLearner4ListOfModules) {
  Case context;
  context
      .fails("aten::convolution",
             "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same")
      .frames({lib("torch", "torch/nn/modules/conv.py", 340, "Conv2d._conv_forward"),
               forward("a = self.tokenizers[i](x)"), train(40)});
  context.module("", "TokenLearner", {weight("cuda:0")});
  context.operand("input", "input", OperandKind::kLocal, "cuda:0");
  auto& held = context.operand(
      "weight", "self.weight", OperandKind::kParameter, "cpu",
      {made("cpu", {own("net.py", 9, "Net.__init__", "self.tokenizers = [Conv2d(3, 8, 1) for _ in range(4)]")})});
  held.registered = false;
  held.holder = "tokenizers[0]";
  expect_fix(expect_code(context, "DV108"), FixKind::kCreationSite, "nn.ModuleList");
}

TEST(UnregisteredState, Neural3dmm1UnderDataParallel) {
  Case context;
  context.model().wrappers = {"torch.nn.DataParallel"};
  context.mixes("aten::mm", "cuda:1", "cuda:0")
      .frames({forward("return x @ self.operator"),
               lib("torch", "torch/nn/parallel/data_parallel.py", 190, "DataParallel.forward"), train(40)});
  context.operand("self", "x", OperandKind::kInput, "cuda:1");
  context
      .operand("mat2", "self.operator", OperandKind::kAttribute, "cuda:0",
               {moved("cuda:0", {own("net.py", 10, "Net.__init__", "self.operator = op.cuda()"), train(5)})})
      .holder = "net";
  expect_evidence(expect_code(context, "DV108"), "replicas");
}

TEST(UnregisteredState, Lightning3674ConstantOfTheFile) {
  Case context;
  context.mixes("aten::sub", "cuda:0", "cpu").frames({forward("return x - MEAN"), call_impl(), train(40)});
  context.operand("self", "x", OperandKind::kInput, "cuda:0");
  context.operand("other", "MEAN", OperandKind::kGlobal, "cpu",
                  {made("cpu", {own("net.py", 3, "<module>", "MEAN = torch.tensor([0.5])")})});
  expect_operand(context, expect_code(context, "DV108"), "MEAN");
}

TEST(StaleCache, NotWhatAScriptMade) {
  Case context;
  context.mixes("aten::mm", "cuda:1", "cuda:0")
      .frames({forward("return x @ self.op"), call_impl(), own("run.py", 9, "<module>", "net(x)")});
  context.operand("self", "x", OperandKind::kInput, "cuda:1");
  context
      .operand("mat2", "self.op", OperandKind::kAttribute, "cuda:0",
               {made("cuda:0", {own("run.py", 3, "<module>", "op = torch.eye(8, device=\"cuda\")")})})
      .holder = "net";
  expect_operand(context, expect_code(context, "DV108"), "self.op");
}

TEST(UnregisteredState, NotARegisteredBuffer) {
  Case context;
  context.mixes("aten::mul", "cuda:0", "cpu").frames({forward("return x * self.scale"), train(40)});
  context.operand("self", "x", OperandKind::kInput, "cuda:0");
  context.operand("other", "self.scale", OperandKind::kBuffer, "cpu").holder = "net";
  for (const auto& finding : diagnose(context.facts)) EXPECT_NE(finding.code, "DV108");
}

TEST(StaleCache, RotaryTorchPr48PrimedOnTheHost) {
  Case context;
  context.facts.failure.step = 1;
  context.mixes("aten::mul", "cuda:0", "cpu")
      .frames({own("rotary.py", 90, "RotaryEmbedding.forward", "return t * self.cached_freqs", "rotary"), train(20)});
  context.operand("self", "t", OperandKind::kInput, "cuda:0");
  Event primed =
      made("cpu", {own("rotary.py", 80, "RotaryEmbedding.forward", "self.cached_freqs = freqs", "rotary"), train(10)});
  primed.step = 0;
  context.operand("other", "self.cached_freqs", OperandKind::kAttribute, "cpu", {primed}).holder = "rotary";
  const auto finding = expect_code(context, "DV113");
  expect_fix(finding, FixKind::kCreationSite, "device part of the key");
}

TEST(StaleCache, Torchvision1255WithoutSteps) {
  Case context;
  context.mixes("aten::add", "cuda:0", "cuda:1")
      .frames(
          {own("anchors.py", 90, "AnchorGenerator.forward", "boxes + anchors", "rpn.anchors"), train(20, "head(b)")});
  context.operand("self", "boxes", OperandKind::kLocal, "cuda:1");
  context
      .operand(
          "other", "self._cache[key]", OperandKind::kAttribute, "cuda:0",
          {made("cuda:0", {own("anchors.py", 70, "AnchorGenerator.grid_anchors", "torch.arange(w, device=device)"),
                           own("anchors.py", 88, "AnchorGenerator.forward", "", "rpn.anchors"), train(19, "head(a)")})})
      .holder = "rpn.anchors";
  expect_code(context, "DV113");
}

TEST(StaleCache, UnslothPr2862ClassLevelTable) {
  Case context;
  context.mixes("aten::mul", "cuda:1", "cuda:0")
      .frames({lib("unsloth", "llama.py", 300, "LlamaAttention_fast_forward", "", "model.layers.3"), train(20)});
  context.operand("self", "Q", OperandKind::kLocal, "cuda:1");
  Event made_once = made(
      "cuda:0", {lib("unsloth", "llama.py", 1200, "LlamaRotaryEmbedding._set_cos_sin_cache"), train(15)}, "unsloth");
  context.operand("other", "cos", OperandKind::kGlobal, "cuda:0", {made_once});
  expect_evidence(expect_code(context, "DV113"), "Every instance shares it");
}

TEST(Sidecar, PeftPr145LoraOnTheFirstGpu) {
  Case context;
  context.map({{"model.layers.0", "cuda:0"}, {"model.layers.1", "cuda:1"}});
  context.module("model.layers.1.q_proj", "lora.Linear", {}, "cuda:1");
  context.mixes("aten::addmm", "cuda:1", "cuda:0")
      .frames({lib("peft", "peft/tuners/lora.py", 400, "Linear.forward", "", "model.layers.1.q_proj")});
  context.operand("mat1", "x", OperandKind::kLocal, "cuda:1");
  auto& adapter =
      context.operand("mat2", "self.lora_A.weight", OperandKind::kParameter, "cuda:0",
                      {made("cuda:0", {lib("peft", "peft/tuners/lora.py", 200, "Linear.__init__")}, "peft")});
  adapter.qualified_name = "model.layers.1.q_proj.lora_A.default.weight";
  adapter.beside = "model.layers.1.q_proj.base_layer.weight";
  adapter.beside_device = "cuda:1";
  const auto finding = expect_code(context, "DV109");
  expect_evidence(finding, "base_layer.weight, which is on cuda:1");
}

TEST(Sidecar, ColossalAi3554LoraAfterTheMove) {
  Case context;
  context.mixes("aten::mm", "cuda:1", "cpu")
      .frames({own("lora.py", 40, "LoraLinear.forward", "", "h.0.attn"), train(4)});
  context.operand("self", "x", OperandKind::kLocal, "cuda:1");
  context.operand("mat2", "self.lora_A", OperandKind::kParameter, "cpu").qualified_name = "h.0.attn.lora_A";
  expect_code(context, "DV109");
}

TEST(Sidecar, Trl2760QuantState) {
  Case context;
  context.mixes("bitsandbytes::dequantize_4bit", "cuda:0", "cuda:1")
      .frames({lib("bitsandbytes", "bitsandbytes/functional.py", 1000, "dequantize_4bit")});
  context.operand("A", "B", OperandKind::kParameter, "cuda:0").qualified_name = "layers.0.q.weight";
  auto& state = context.operand("absmax", "quant_state.absmax", OperandKind::kAttribute, "cuda:1");
  state.beside = "layers.0.q.weight";
  state.beside_device = "cuda:0";
  state.holder = "layers.0.q";
  expect_operand(context, expect_code(context, "DV109"), "quant_state.absmax");
}

TEST(OptimizerState, Pytorch7321Adagrad) {
  Case context;
  context.module("", "Net", {weight("cuda:0")});
  Event move = moved("cuda:0", {own("train.py", 14, "main", "net.cuda()")});
  move.sequence = 9;
  context.model().placements = {move};
  model::Optimizer adagrad;
  adagrad.type = "torch.optim.Adagrad";
  adagrad.built = made("cpu", {own("train.py", 12, "main", "opt = torch.optim.Adagrad(net.parameters())")});
  adagrad.built.sequence = 4;
  adagrad.states = {{"sum", "weight", "cpu", "cuda:0"}};
  context.facts.optimizers = {adagrad};
  context.mixes("aten::addcmul_", "cpu", "cuda:0", Phase::kOptimizer)
      .frames({lib("torch", "torch/optim/adagrad.py", 350, "_single_tensor_adagrad"),
               own("train.py", 30, "main", "opt.step()")});
  context.operand("self", "state_sum", OperandKind::kOptimizerState, "cpu");
  context.operand("tensor1", "grad", OperandKind::kLocal, "cuda:0");
  const auto finding = expect_code(context, "DV110");
  expect_evidence(finding, "train.py:12, before the model was moved, at train.py:14");
  expect_fix(finding, FixKind::kCreationSite, "then build the optimizer");
}

TEST(OptimizerState, UniCore42Ema) {
  Case context;
  context.mixes("aten::sub", "cuda:0", "cpu", Phase::kOptimizer)
      .frames({own("ema.py", 30, "ExponentialMovingAverage.update", "diff = self.param - new_param"), train(30)});
  context.operand("self", "self.param", OperandKind::kOptimizerState, "cpu",
                  {made("cpu", {own("ema.py", 10, "ExponentialMovingAverage.__init__", "self.param = flat.clone()")})});
  context.operand("other", "new_param", OperandKind::kLocal, "cuda:0");
  expect_operand(context, expect_code(context, "DV110"), "self.param");
}

TEST(OptimizerState, Shampoo3LoadedOnTheHost) {
  Case context;
  model::Optimizer shampoo;
  shampoo.type = "Shampoo";
  shampoo.loaded = event(EventKind::kLoaded, "cpu", "torch.load",
                         {train(12, "opt.load_state_dict(torch.load(p, map_location=\"cpu\"))")});
  shampoo.loaded.sequence = 7;
  shampoo.states = {{"preconditioner", "w", "cpu", "cuda:0"}};
  context.facts.optimizers = {shampoo};
  context.mixes("aten::mm", "cuda:0", "cpu", Phase::kOptimizer)
      .frames({own("shampoo.py", 90, "Preconditioner.precondition"), train(30)});
  context.operand("self", "grad", OperandKind::kLocal, "cuda:0");
  context.operand("mat2", "self.statistics[i]", OperandKind::kUnknown, "cpu");
  expect_evidence(expect_code(context, "DV110"), "was loaded");
}

TEST(StaleCache, WhatAnEarlierCallMadeIsKeptBySomething) {
  Case context;
  context.mixes("aten::mul", "cuda:1", "cuda:0").frames({forward("return q * cos"), train(20)});
  context.operand("self", "q", OperandKind::kLocal, "cuda:1");
  auto kept = made("cuda:0", {own("rope.py", 12, "table", "t = torch.arange(n, device=device)"), forward("", 29)});
  kept.step = 0;
  context.operand("other", "cos", OperandKind::kLocal, "cuda:0", {kept});
  context.facts.failure.step = 1;
  expect_operand(context, expect_code(context, "DV113"), "cos");
}

TEST(Sidecar, PutBesideWeightsThatHadMoved) {
  Case context;
  context.mixes("aten::mm", "cuda:0", "cpu").frames({forward("return x @ self.down"), train(20)});
  context.operand("self", "x", OperandKind::kInput, "cuda:0");
  auto& down = context.operand("mat2", "self.down", OperandKind::kParameter, "cpu");
  down.qualified_name = "2.down";
  context.module("", "Sequential");
  context.module("2", "Wrapped", {weight("cpu", "down")});
  context.module("2.layer", "Linear", {weight("cuda:0")});
  context.model().placements.push_back(moved("cuda:0", {own("train.py", 9, "<module>", "model.cuda()")}));
  const auto finding = expect_code(context, "DV109");
  expect_operand(context, finding, "self.down");
  expect_evidence(finding, "train.py:9");
}

TEST(UnregisteredState, NotOfAModelThatNobodyMoved) {
  Case context;
  context.mixes("aten::mul", "cuda:1", "cuda:0").frames({forward("return q * self.cos"), train(20)});
  context.operand("self", "q", OperandKind::kInput, "cuda:1");
  auto& cos =
      context.operand("other", "self.cos", OperandKind::kAttribute, "cuda:0",
                      {made("cuda:0", {own("net.py", 5, "Net.__init__", "torch.ones(4, device=\"cuda\").cos()")})});
  cos.holder = "net";
  context.module("", "Net");
  EXPECT_NE(diagnose(context.facts).front().code, "DV108");
}

}  // namespace devsan::diagnose::test
