// What programs that the causes were not written with have shown (docs/reference/regressions.md, rounds 4 to 6).

#include "diagnose/programs.h"

namespace devsan::diagnose::test {

using model::FixKind;

TEST(FreshTensor, ALossBuiltInEachStepHoldsIt) {
  Case context;
  context.mixes("aten::nll_loss_forward", "cuda:0", "cpu", Phase::kLoss)
      .frames({lib("torch", "torch/nn/modules/loss.py", 1300, "CrossEntropyLoss.forward"),
               own("train.py", 18, "WeightedTrainer.compute_loss", "loss = loss_fct(logits, labels)"),
               lib("transformers", "transformers/trainer.py", 3700, "Trainer.training_step"), train(30)});
  context.module("", "CrossEntropyLoss", {buffer("cpu", "weight")});
  context.operand("self", "logits", OperandKind::kLocal, "cuda:0");
  Event weight = made("cpu", {own("train.py", 17, "WeightedTrainer.compute_loss",
                                  "loss_fct = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 3.0]))"),
                              train(30)});
  weight.op = "aten::tensor";
  context.operand("weight", "loss_fct.weight", OperandKind::kBuffer, "cpu", {weight}).offending = true;
  const auto finding = expect_code(context, "DV102");
  ASSERT_TRUE(finding.fixes.front().edit);
  EXPECT_EQ(finding.fixes.front().edit->after,
            "loss_fct = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 3.0], device=logits.device))");
}

TEST(HostBoundary, AnObjectThatIsNoModuleKeepsIt) {
  Case context;
  context.mixes("aten::mul", "cuda:0", "cpu")
      .frames({own("scale.py", 9, "Scaler.undo", "return x * self.std"), train(3)});
  context.operand("self", "x", OperandKind::kLocal, "cuda:0");
  context.operand("other", "self.std", OperandKind::kAttribute, "cpu",
                  {made("cpu", {own("scale.py", 4, "Scaler.fit", "self.std = series.std(dim=0)"), train(2)})});
  const auto finding = expect_code(context, "DV103");
  expect_operand(context, finding, "self.std");
  expect_evidence(finding, "not a module");
}

TEST(HostBoundary, AnIndexComesToRowsThatStayOnTheHost) {
  Case context;
  context
      .fails("aten::index", "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
             SentenceKind::kIndex)
      .frames({own("replay.py", 20, "Replay.sample", "return self.obs[idx]"), train(3)});
  Operand& rows = context.operand("self", "self.obs", OperandKind::kAttribute, "cpu");
  rows.shape = std::vector<std::int64_t>{64, 4};
  context.operand("indices[0]", "idx", OperandKind::kLocal, "cuda:0").offending = true;
  const auto finding = expect_code(context, "DV103");
  ASSERT_TRUE(finding.fixes.front().edit);
  EXPECT_EQ(finding.fixes.front().edit->after, "return self.obs[idx.to(self.obs.device)]");
  context.facts.failure.operands.front().shape = std::vector<std::int64_t>{64};
  const auto table = expect_code(context, "DV103");
  ASSERT_TRUE(table.fixes.back().edit);
  EXPECT_EQ(table.fixes.back().edit->after, "return self.obs.to(idx.device)[idx]");
}

TEST(ReductionBoundary, AQuotientOfNormsIsNoLoss) {
  Case context;
  context.mixes("aten::div", "cuda:0", "cuda:1", Phase::kLoss)
      .frames({own("compute_z.py", 160, "compute_z", "weight_decay = torch.norm(delta) / torch.norm(target_init) ** 2"),
               train(3)});
  context.module("layer", "Linear", {weight("cuda:1")}, "cuda:1");
  context.module("head", "Linear", {weight("cuda:0")}, "cuda:0");
  Event placed =
      made("cuda:0", {own("compute_z.py", 90, "compute_z", "delta = torch.zeros(8, device=hparams.device)")});
  placed.source = DeviceSource::kScalar;
  placed.device_text = "hparams.device";
  Operand& norm = context.operand("self", "torch.norm(delta)", OperandKind::kTemporary, "cuda:0", {placed});
  norm.shape = std::vector<std::int64_t>{};
  context.operand("other", "torch.norm(target_init)", OperandKind::kTemporary, "cuda:1", {mapped("cuda:1", "layer")})
      .shape = std::vector<std::int64_t>{};
  expect_operand(context, expect_code(context, "DV101"), "torch.norm(delta)");
}

TEST(ReductionBoundary, ATotalThatOutlivesTheStep) {
  Case context;
  context.mixes("aten::add_", "cuda:0", "cpu")
      .frames({own("train.py", 25, "Trainer.epoch", "total_loss += loss.detach()"), train(40)});
  Event zeros = made("cpu", {own("train.py", 21, "Trainer.epoch", "total_loss = torch.zeros(1)"), train(40)});
  zeros.op = "aten::zeros";
  context.operand("self", "total_loss", OperandKind::kLocal, "cpu", {zeros}).shape = std::vector<std::int64_t>{1};
  context.operand("other", "loss", OperandKind::kLocal, "cuda:0").shape = std::vector<std::int64_t>{};
  expect_operand(context, expect_code(context, "DV104"), "total_loss");
}

TEST(StaleDeviceCache, TwoCallsInOneLineAreTwoCalls) {
  Case context;
  Frame outer = own("net.py", 40, "<module>", "second(first(x).to(\"cuda:1\"))");
  outer.span = {40, 1, 40, 31};
  Frame before = outer;
  before.span = {40, 8, 40, 16};
  context.mixes("aten::add", "cuda:1", "cuda:0")
      .frames({own("net.py", 22, "Alibi.forward", "return scores + self.bias(n)", "alibi"), call_impl(), outer});
  context.module("", "Layer", {weight("cuda:1")});
  Event placed =
      moved("cuda:0", {own("net.py", 18, "Alibi.bias", "self._bias[n] = distance.to(device)"),
                       own("net.py", 22, "Alibi.forward", "return scores + self.bias(n)"), call_impl(), before});
  placed.source = DeviceSource::kPeer;
  context.operand("self", "scores", OperandKind::kLocal, "cuda:1");
  context.operand("other", "self.bias(n)", OperandKind::kTemporary, "cuda:0", {placed}).offending = true;
  expect_operand(context, expect_code(context, "DV113"), "self.bias(n)");
}

TEST(SplitBlock, ARootThatJoinsItsParts) {
  Case context;
  context.mixes("aten::cat", "cuda:1", "cuda:0")
      .frames({own("unet.py", 24, "UNet.forward", "x = torch.cat([up, skip], dim=1)"), call_impl(), train(5)});
  context.module("", "UNet");
  context.module("inc", "Conv2d", {weight("cuda:0")}, "cuda:0");
  context.module("up", "Conv2d", {weight("cuda:1")}, "cuda:1");
  context.operand("tensors[0]", "up", OperandKind::kLocal, "cuda:1", {mapped("cuda:1", "up")});
  context.operand("tensors[1]", "skip", OperandKind::kLocal, "cuda:0", {mapped("cuda:0", "inc")}).offending = true;
  const auto finding = expect_code(context, "DV107");
  ASSERT_TRUE(finding.fixes.back().edit) << text_of({finding});
}

TEST(SingleDeviceAssumption, AForwardHookStandsInNoModule) {
  Case context;
  context.mixes("aten::add", "cuda:1", "cuda:0")
      .frames({own("steer.py", 29, "Steering.hook", "return output + vector"),
               lib("torch", "torch/nn/modules/module.py", 1830, "Module._call_impl", "", "layers.3"), train(9)});
  context.module("layers.1", "DecoderLayer", {weight("cuda:0")}, "cuda:0");
  context.module("layers.3", "DecoderLayer", {weight("cuda:1")}, "cuda:1");
  context.operand("self", "output", OperandKind::kLocal, "cuda:1", {mapped("cuda:1", "layers.3")});
  Operand& vector = context.operand("other", "vector", OperandKind::kLocal, "cuda:0", {mapped("cuda:0", "layers.1")});
  vector.offending = true;
  vector.bytes = 64;
  const auto finding = expect_code(context, "DV101");
  expect_operand(context, finding, "vector");
  ASSERT_TRUE(finding.fixes.back().edit);
  EXPECT_EQ(finding.fixes.back().edit->after, "return output + vector.to(output.device)");
}

TEST(MapGap, OneWeightOfTwoEntries) {
  Case context;
  context.mixes("aten::index_select", "cuda:1", "cuda:0")
      .frames({lib("transformers", "modeling_t5.py", 678, "T5Stack.forward", "", "encoder"), call_impl(), train(9)});
  context.map({{"shared", "cuda:0"}, {"decoder", "cuda:1"}});
  context.module("shared", "Embedding", {weight("cuda:1")}, "cuda:0");
  context.operand("self", "self.embed_tokens.weight", OperandKind::kParameter, "cuda:1", {mapped("cuda:1", "decoder")})
      .qualified_name = "shared.weight";
  context.operand("index", "input_ids", OperandKind::kInput, "cuda:0",
                  {moved("cuda:0", {own("run.py", 3, "<module>", "ids = ids.to(\"cuda:0\")")})});
  const auto finding = expect_code(context, "DV105");
  expect_fix(finding, FixKind::kMap, "shared.weight");
}

TEST(OptimizerState, ACopyOfTheWeightsGetsItsGradientByHand) {
  Case context;
  context
      .fails("", "attempting to assign a gradient with device type 'cuda' to a tensor with device type 'cpu'.",
             SentenceKind::kGradient)
      .frames({own("fp16.py", 17, "MasterWeights.step", "master.grad = p.grad.float()"), train(9)});
  context.operand("tensor", "master", OperandKind::kLocal, "cpu");
  context.operand("gradient", "p.grad.float()", OperandKind::kTemporary, "cuda");
  expect_operand(context, expect_code(context, "DV110"), "master");
}

TEST(OptimizerState, FusedStepsNameNoOperand) {
  Case context;
  context
      .fails("",
             "Tensors of the same index must be on the same device and the same dtype except `step` tensors that can "
             "be CPU and float32/64 notwithstanding",
             SentenceKind::kMixed, Phase::kOptimizer)
      .frames({lib("torch", "torch/optim/adam.py", 700, "_multi_tensor_adam"), train(9)});
  model::Optimizer adam;
  adam.type = "torch.optim.AdamW";
  adam.states.push_back({"exp_avg", "0.weight", "cpu", "cuda:0"});
  context.facts.optimizers.push_back(adam);
  const auto finding = expect_code(context, "DV110");
  expect_evidence(finding, "exp_avg");
  context.facts.optimizers.clear();
  EXPECT_NE(diagnose(context.facts).front().code, "DV110");
}

TEST(SidecarState, AnAdapterMergedByHand) {
  Case context;
  context.mixes("aten::add_", "cuda:1", "cuda:0")
      .frames({own("merge.py", 30, "merge_lora", "layer.weight.data += delta"), train(9)});
  context.module("q_proj", "Linear", {weight("cuda:1")}, "cuda:1");
  context.operand("self", "layer.weight", OperandKind::kParameter, "cuda:1", {mapped("cuda:1", "q_proj")})
      .qualified_name = "q_proj.weight";
  context.operand("other", "delta", OperandKind::kLocal, "cuda:0").offending = true;
  const auto finding = expect_code(context, "DV109");
  ASSERT_TRUE(finding.fixes.back().edit);
  EXPECT_EQ(finding.fixes.back().edit->after, "layer.weight.data += delta.to(layer.weight.device)");
}

TEST(MovedAfterDispatch, WhatWasLoadedBeforeTheMapIsNoSecondOwner) {
  Case context;
  context.mixes("aten::add", "cuda:1", "cuda:0").frames({own("run.py", 9, "<module>", "a + b")});
  context.module("a", "Linear", {weight("cuda:0")}, "cuda:0");
  Event before = event(EventKind::kMoved, "cpu", "", {});
  before.subject = "a";
  before.sequence = 2;
  Event dispatch = mapped("cuda:0", "a");
  dispatch.sequence = 4;
  context.model().placements = {before, dispatch};
  context.operand("self", "a", OperandKind::kLocal, "cuda:1");
  context.operand("other", "b", OperandKind::kLocal, "cuda:0");
  EXPECT_NE(diagnose(context.facts).front().code, "DV201");
}

TEST(RefusedOwners, APipelineGivenADevice) {
  Case context;
  context
      .fails("",
             "The model has been loaded with `accelerate` and therefore cannot be moved to a specific device. Please "
             "discard the `device` argument when creating your pipeline object.",
             SentenceKind::kPlacement)
      .frames({own("run.py", 9, "<module>", "pipe = pipeline(\"text-generation\", model=model, device=0)")});
  expect_fix(expect_code(context, "DV203"), FixKind::kConfiguration, "device=");
}

TEST(UnregisteredState, MadeInAHookBeforeTheStep) {
  Case context;
  context.mixes("aten::_cdist_forward", "cuda:0", "cpu")
      .frames({own("proto.py", 23, "ProtoNet.training_step", "d = torch.cdist(z, self.prototypes)"), train(9)});
  context.module("", "ProtoNet", {weight("cpu")});  // taken off the GPU while the exception passed
  Event move = moved("cuda:0", {train(9)}, "lightning");
  move.sequence = 2;
  context.model().placements = {move};
  context.operand("x1", "z", OperandKind::kLocal, "cuda:0");
  Event drawn = made("cpu", {own("proto.py", 18, "ProtoNet.setup", "self.prototypes = torch.randn(3, 8)"), train(9)});
  drawn.source = DeviceSource::kDefault;
  context.operand("x2", "self.prototypes", OperandKind::kAttribute, "cpu", {drawn}).holder = "ProtoNet";
  expect_operand(context, expect_code(context, "DV108"), "self.prototypes");
}

}  // namespace devsan::diagnose::test
