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

TEST(SplitBlock, AResidualThatBeganAtAMoveOfTheProgram) {
  Case context;
  context.mixes("aten::add", "cuda:0", "cuda:1")
      .frames({own("net.py", 45, "Block.forward", "return x + self.ff(x)", "blocks.1"), call_impl(), train(5)});
  context.map({{"blocks.0", "cuda:0"}, {"blocks.1.up", "cuda:0"}, {"blocks.1.down", "cuda:1"}});
  context.module("blocks.1", "Block");
  context.module("blocks.1.up", "Linear", {weight("cuda:0")}, "cuda:0");
  context.module("blocks.1.down", "Linear", {weight("cuda:1")}, "cuda:1");
  Event sent = moved("cuda:0", {train(93, "logits = model(mel.to(\"cuda:0\"))")});
  sent.device_text = "\"cuda:0\"";
  context.operand("self", "x", OperandKind::kLocal, "cuda:0", {computed("cuda:0", "aten::add", ""), sent});
  context
      .operand("other", "self.ff(x)", OperandKind::kTemporary, "cuda:1",
               {computed("cuda:1", "", "blocks.1.down.weight"), mapped("cuda:1", "blocks.1.down")})
      .offending = true;
  expect_code(context, "DV107");
}

TEST(SingleDeviceAssumption, AWeightThatTheProgramMadeOnADeviceOfItsOwn) {
  Case context;
  const Frame site =
      own("steer.py", 55, "Steering.__init__", "self.vector = nn.Parameter(torch.zeros(8, device=device))");
  context.mixes("aten::add", "cuda:1", "cuda:0").frames({forward("return out + self.vector"), call_impl(), train(9)});
  Event staged = moved("cuda:1", {own("steer.py", 45, "Net.forward", "x = x.to(self.second)")});
  staged.device_text = "self.second";
  context.operand("self", "out", OperandKind::kLocal, "cuda:1", {computed("cuda:1", "aten::add", ""), staged});
  Event placed = made("cuda:0", {site});
  placed.op = "aten::zeros";
  placed.owner.mechanism = "zeros";
  placed.device_text = "device";
  placed.device_value = "next(model.parameters()).device";
  placed.device_value_at = "steer.py:76";
  context.operand("other", "self.vector", OperandKind::kParameter, "cuda:0", {placed}).offending = true;
  const auto finding = expect_code(context, "DV101");
  expect_operand(context, finding, "self.vector");
  expect_evidence(finding, "`device` is `next(model.parameters()).device`, at steer.py:76");
}

TEST(SingleDeviceAssumption, ATableOfThePrograms) {
  Case context;
  context.mixes("aten::convolution", "cuda:0", "cuda:1")
      .frames({own("pipeline.py", 23, "Pipeline.forward", "x = stage(x.to(self.where[name]))"), call_impl(), train(9)});
  context.module("stages.a", "Conv1d", {weight("cuda:0")});
  context.module("stages.b", "Conv1d", {weight("cuda:1")});
  Event sent = moved("cuda:1", {own("pipeline.py", 23, "Pipeline.forward", "x = stage(x.to(self.where[name]))")});
  sent.device_text = "self.where[name]";
  sent.source = DeviceSource::kMap;
  context.operand("input", "x.to(self.where[name])", OperandKind::kTemporary, "cuda:1", {sent}).offending = true;
  Event staged = moved("cuda:0", {own("pipeline.py", 15, "Pipeline.__init__", "stage.to(f\"cuda:{i}\")")});
  staged.op = "Module.to";
  staged.device_text = "f\"cuda:{i}\"";
  context.operand("weight", "stage.weight", OperandKind::kParameter, "cuda:0", {staged}).qualified_name =
      "stages.a.weight";
  const auto finding = expect_code(context, "DV101");
  expect_operand(context, finding, "x.to(self.where[name])");
  EXPECT_EQ(finding.title.text().find("one device value"), std::string::npos) << finding.title.text();
}

TEST(KvCache, TheCellStateThatWasLeftBehind) {
  Case context;
  context.mixes("aten::lstm", "cuda:1", "cuda:0").frames({forward("o, state = self.rnn(y, state)"), train(9)});
  Event taken = moved("cuda:1", {own("forecast.py", 52, "Net.forward", "state = (h.to(DEC), c)")});
  taken.from = "cuda:0";
  context.operand("input", "y", OperandKind::kLocal, "cuda:1");
  context.operand("hx[0]", "state[0]", OperandKind::kCache, "cuda:1", {taken});
  context.operand("hx[1]", "state[1]", OperandKind::kCache, "cuda:0", {computed("cuda:0", "aten::lstm", "")})
      .offending = true;
  const auto finding = expect_code(context, "DV106");
  expect_operand(context, finding, "state[1]");
  expect_evidence(finding, "`state[0]` was moved to cuda:1, at forecast.py:52, `state[1]` was not.");
  expect_fix(finding, FixKind::kCreationSite, "move `state[1]` where `state[0]` is moved");
}

TEST(OptimizerState, AnAverageThatWasCopiedBeforeTheMove) {
  Case context;
  context.mixes("aten::lerp_", "cpu", "cuda:1").frames({own("ema.py", 22, "Ema.update"), train(9)});
  Event copied = computed("cpu", "aten::clone", "p");
  copied.stack = {own("ema.py", 17, "Ema.__init__", "self.shadow = {k: p.detach().clone() for k, p in named}")};
  copied.sequence = 4;
  context.operand("self", "self.shadow[k]", OperandKind::kOptimizerState, "cpu", {copied}).offending = true;
  Event went = moved("cuda:1", {own("trainer.py", 14, "Trainer.fit", "self.model.to(self.device)")});
  went.op = "Module.to";
  went.sequence = 9;
  context.operand("end", "p", OperandKind::kParameter, "cuda:1", {went});
  expect_evidence(expect_code(context, "DV110"),
                  "It was copied, at ema.py:17, before `p` was moved to cuda:1, at trainer.py:14.");
}

TEST(ReductionBoundary, LogitsThatAHookBroughtBack) {
  Case context;
  context.mixes("aten::nll_loss_forward", "cuda:0", "cuda:1", model::Phase::kLoss).frames({train(44)});
  Event back = hooked("cuda:0");
  back.from = "cuda:1";
  back.owner.setting = "io_same_device=True";
  context.operand("self", "logits", OperandKind::kLocal, "cuda:0", {back});
  Event sent = moved("cuda:1", {train(57, "labels.to(out_device)")});
  sent.device_text = "out_device";
  context.operand("target", "labels", OperandKind::kInput, "cuda:1", {sent}).offending = true;
  expect_evidence(expect_code(context, "DV104"), "accelerate's hook brought `logits` back from cuda:1 to cuda:0");
}

TEST(MapGap, ACopyOfTheWeightsStandsInForThem) {
  Case context;
  context.mixes("aten::mm", "cuda:0", "cpu").frames({forward("return self.l1(x)"), call_impl(), train(9)});
  context.module("", "Net");
  context.module("l1", "Linear", {weight("cpu")});
  context.module("l2", "Linear", {weight("cuda:0")});
  Event whole = moved("cuda:0", {own("maml.py", 59, "main", "net.to(device)")});
  whole.op = "Module.to";
  whole.sequence = 9;
  context.model().placements = {whole};
  Event copied = computed("cpu", "aten::clone", "p");
  copied.stack = {own("maml.py", 25, "MAML.__init__", "name: p.detach().clone() for name, p in named")};
  copied.sequence = 4;
  context.operand("mat1", "x", OperandKind::kInput, "cuda:0");
  Operand& copy = context.operand("mat2", "self.l1.weight", OperandKind::kParameter, "cpu", {copied});
  copy.qualified_name = "l1.weight";
  copy.offending = true;
  const auto finding = expect_code(context, "DV105");
  expect_evidence(finding, "`self.l1.weight` is a copy, at maml.py:25, older than the move of the model");
}

TEST(TiedWeights, OneIsToldByItsOtherName) {
  Case context;
  context.mixes("aten::mm", "cuda:1", "cuda:0")
      .frames({forward("return self.head(self.drop(x))"), call_impl(), train(9)});
  context.module("embed", "Embedding", {weight("cuda:0")});
  context.module("norm", "LayerNorm", {weight("cuda:1")});
  Event first = moved("cuda:0", {own("lm.py", 20, "Lm.spread", "self.embed.to(first)")});
  first.op = "Module.to";
  first.device_text = "first";
  Operand& head = context.operand("mat2", "self.head.weight", OperandKind::kParameter, "cuda:0", {first});
  head.qualified_name = "embed.weight";
  head.tied_to = "head.weight";
  head.offending = true;
  context.operand("mat1", "self.drop(x)", OperandKind::kTemporary, "cuda:1", {computed("cuda:1", "aten::mul", "")});
  expect_evidence(expect_code(context, "DV430"),
                  "`self.head.weight` is tied to `embed.weight`: both are one tensor, on cuda:0.");
}

TEST(TiedWeights, TheSecondMoveTookIt) {
  Case context;
  context.mixes("aten::index_select", "cuda:1", "cuda:0").frames({forward("x = self.wte(ids)"), train(9)});
  context.module("wte", "Embedding", {weight("cuda:1")});
  Event last = moved("cuda:1", {own("lm.py", 21, "Lm.spread", "self.head.to(last)")});
  Event before = moved("cuda:0", {own("lm.py", 20, "Lm.spread", "self.wte.to(first)")});
  last.op = before.op = "Module.to";
  Operand& table = context.operand("self", "self.wte.weight", OperandKind::kParameter, "cuda:1", {last, before});
  table.qualified_name = "wte.weight";
  table.tied_to = "head.weight";
  context.operand("index", "ids", OperandKind::kInput, "cuda:0");
  expect_evidence(expect_code(context, "DV430"),
                  "was moved twice: to cuda:0, at lm.py:20, then to cuda:1, at lm.py:21.");
}

TEST(MapGap, AMapOfOnePartSaysNothingOfWhatStandsBesideIt) {
  Case context;
  context.mixes("aten::mm", "cuda:1", "cuda:0").frames({forward("return self.projector(seen)"), train(9)});
  context.module("tower", "Tower", {weight("cuda:1")});
  context.module("projector", "Linear", {weight("cuda:0")});
  context.map({{"tower", "cuda:1"}});
  context.model().mapped = {"tower"};
  Event placed = moved("cuda:0", {own("llava.py", 20, "Llava.__init__", "self.projector.to(\"cuda:0\")")});
  placed.op = "Module.to";
  placed.device_text = "\"cuda:0\"";
  placed.source = DeviceSource::kLiteral;
  context.operand("mat2", "", OperandKind::kParameter, "cuda:0", {placed}).qualified_name = "projector.weight";
  context.operand("mat1", "seen", OperandKind::kLocal, "cuda:1", {hooked("cuda:1")});
  expect_code(context, "DV101");
}

TEST(CurrentDevice, AThreadHasOneOfItsOwn) {
  Case context;
  context.mixes("aten::convolution", "cuda:0", "cuda:1").frames({forward("return self.conv(x)"), train(9)});
  context.facts.process.device_count = 2;
  context.facts.process.current_device = "cuda:1";
  context.facts.process.set_device_called = true;
  Event fetched = moved("cuda:0", {own("loader.py", 24, "Prefetcher.work", "self.queue.put(x.cuda())"),
                                   lib("python", "threading.py", 982, "Thread.run"),
                                   lib("python", "threading.py", 1045, "Thread._bootstrap_inner")});
  fetched.device_text = "\"cuda\"";
  fetched.source = DeviceSource::kCurrent;
  context.operand("input", "x", OperandKind::kInput, "cuda:0", {fetched});
  Event whole = moved("cuda:1", {train(3, "model = Net().cuda()")});
  whole.source = DeviceSource::kCurrent;
  whole.op = "Module.to";
  context.operand("weight", "", OperandKind::kParameter, "cuda:1", {whole}).offending = true;
  const auto finding = expect_code(context, "DV115");
  expect_evidence(finding, "the current device is each thread's own");
  expect_fix(finding, FixKind::kCreationSite, "in the thread");
}

TEST(CurrentDevice, AThreadForWhoseModelAnotherOneChose) {
  Case context;
  context.mixes("aten::addmm", "cuda:1", "cuda:0").frames({forward("return self.net(x)"), train(77)});
  Event made_there = made("cuda:0", {own("serve.py", 37, "Server.prepare", "x = torch.tensor(rows, device=\"cuda\")"),
                                     lib("python", "threading.py", 1045, "Thread._bootstrap_inner")});
  made_there.source = DeviceSource::kCurrent;
  Event replica = moved("cuda:1", {own("serve.py", 28, "Server.__init__", "copy.deepcopy(model).to(\"cuda\")")});
  replica.source = DeviceSource::kCurrent;
  replica.op = "Module.to";
  context.operand("weight", "net.bias", OperandKind::kParameter, "cuda:1", {replica});
  context.operand("mat1", "x", OperandKind::kInput, "cuda:0", {made_there}).offending = true;
  const auto finding = expect_code(context, "DV115");
  expect_operand(context, finding, "x");
  expect_evidence(finding, "cuda:1 was chosen in another one");
}

TEST(SingleDeviceAssumption, AModuleThatWasMovedTwice) {
  Case context;
  context.mixes("aten::index_select", "cuda:1", "cuda:0").frames({forward("return self.embed(tokens)"), train(9)});
  const auto to = [](const char* device, int line) {
    Event event = moved(device, {own("lm.py", line, "Lm.place", "self.head.to(last)")});
    event.op = "Module.to";
    event.device_text = "last";
    return event;
  };
  Operand& table = context.operand("self", "self.embed.weight", OperandKind::kParameter, "cuda:1",
                                   {to("cuda:1", 45), to("cuda:0", 39)});
  table.qualified_name = "embed.weight";
  Event sent = moved("cuda:0", {own("lm.py", 50, "Lm.forward", "tokens = tokens.to(self.first)")});
  sent.device_text = "self.first";
  context.operand("index", "tokens", OperandKind::kInput, "cuda:0", {sent}).offending = true;
  const auto finding = expect_code(context, "DV101");
  expect_evidence(finding, "`self.embed.weight` was moved twice: to cuda:0, at lm.py:39, then to cuda:1, at lm.py:45.");
  EXPECT_EQ(finding.title.text(), "`self.embed.weight` was moved from cuda:0 to cuda:1, `tokens` is still on cuda:0");
}

TEST(FreshTensor, AHelperThatWritesItsDeviceOut) {
  Case context;
  context.mixes("aten::mul", "cuda:1", "cuda:0")
      .frames({own("spectral.py", 11, "spectrum", "return wave * window(n)"),
               own("main.py", 49, "main", "spectrum(fake)")});
  Event sent = moved("cuda:1", {own("main.py", 46, "main", "fake = vocoder(bands).to(cfg.critic)")});
  sent.device_text = "cfg.critic";
  context.operand("self", "wave", OperandKind::kLocal, "cuda:1", {sent});
  Event written = made("cuda:0", {own("spectral.py", 7, "window", "return torch.hann_window(size, device=\"cuda:0\")"),
                                  own("spectral.py", 11, "spectrum", "return wave * window(n)"),
                                  own("main.py", 49, "main", "spectrum(fake)")});
  written.op = "aten::hann_window";
  written.device_text = "\"cuda:0\"";
  context.operand("other", "window(n)", OperandKind::kTemporary, "cuda:0", {written}).offending = true;
  expect_operand(context, expect_code(context, "DV102"), "window(n)");
}

TEST(OptimizerState, AGradientOfAnotherGpuIsNoCopyOfTheWeights) {
  Case context;
  context.fails("", "attempting to assign a gradient located on device with index '", SentenceKind::kGradient)
      .frames({own("reinforce.py", 60, "Replicas.average", "p.grad = mean"), train(9)});
  context.operand("tensor", "p", OperandKind::kLocal, "cuda:1");
  Event root = moved("cuda:0", {own("reinforce.py", 58, "Replicas.average", "mean = torch.stack([p.grad.to(root)])")});
  root.device_text = "root";
  context.operand("gradient", "mean", OperandKind::kLocal, "cuda:0", {computed("cuda:0", "aten::mean", ""), root})
      .offending = true;
  expect_operand(context, expect_code(context, "DV101"), "mean");
}

}  // namespace devsan::diagnose::test
