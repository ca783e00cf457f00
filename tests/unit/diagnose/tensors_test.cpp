// Tensors that are made, kept or left in the wrong place by the code around a model.

#include "diagnose/programs.h"

namespace devsan::diagnose::test {

using model::FixKind;

TEST(FreshTensor, Yolov71101) {
  Case context;
  context
      .fails("aten::index", "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
             SentenceKind::kIndex)
      .frames({own("loss.py", 759, "ComputeLossOTA.build_targets", "from_which_layer = from_which_layer[fg_mask]"),
               own("loss.py", 600, "ComputeLossOTA.__call__", "bs, as_ = self.build_targets(p, targets, imgs)"),
               train(300)});
  context.operand(
      "self", "from_which_layer", OperandKind::kLocal, "cpu",
      {made("cpu", {own("loss.py", 685, "ComputeLossOTA.build_targets",
                        "from_which_layer.append(torch.ones(size=(len(b),)) * i)"),
                    own("loss.py", 600, "ComputeLossOTA.__call__", "bs, as_ = self.build_targets(p, targets, imgs)"),
                    train(300)})});
  context.operand("indices[0]", "fg_mask", OperandKind::kLocal, "cuda:0").offending = true;
  const auto finding = expect_code(context, "DV102");
  expect_operand(context, finding, "from_which_layer");
  expect_fix(finding, FixKind::kCreationSite, "loss.py:685");
  ASSERT_TRUE(finding.fixes.front().edit);
  EXPECT_EQ(finding.fixes.front().edit->after,
            "from_which_layer.append(torch.ones(size=(len(b),), device=fg_mask.device) * i)");
}

TEST(FreshTensor, Graphnet328TargetInsideTheLoss) {
  Case context;
  context.mixes("aten::nll_loss_forward", "cuda:0", "cpu", Phase::kLoss)
      .frames({lib("torch", "torch/nn/functional.py", 3400, "cross_entropy"),
               lib("graphnet", "loss_functions.py", 200, "MultiClassificationCrossEntropyLoss._forward",
                   "return cross_entropy(prediction.float(), tensor_target, reduction=\"none\")", "loss"),
               train(40)});
  context.operand("self", "prediction", OperandKind::kInput, "cuda:0");
  context
      .operand("target", "tensor_target", OperandKind::kLocal, "cpu",
               {made("cpu",
                     {lib("graphnet", "loss_functions.py", 195, "MultiClassificationCrossEntropyLoss._forward",
                          "tensor_target = torch.tensor(values)"),
                      train(40)},
                     "graphnet")})
      .offending = true;
  expect_operand(context, expect_code(context, "DV102"), "tensor_target");
}

TEST(FreshTensor, MonaiGenPr371TargetsOnTheCurrentDevice) {
  Case context;
  context.mixes("aten::sub", "cuda:1", "cuda:0", Phase::kLoss)
      .frames({lib("monai", "adversarial_loss.py", 120, "PatchAdversarialLoss.forward", "", "loss"), train(40)});
  context.operand("self", "input", OperandKind::kInput, "cuda:1");
  context.operand(
      "other", "target", OperandKind::kLocal, "cuda:0",
      {made("cuda:0",
            {lib("monai", "adversarial_loss.py", 100, "PatchAdversarialLoss.get_target_tensor",
                 "torch.ones(input.shape, device=\"cuda\")"),
             lib("monai", "adversarial_loss.py", 118, "PatchAdversarialLoss.forward", "", "loss"), train(40)},
            "monai")});
  expect_code(context, "DV102");
}

TEST(FreshTensor, MistralInferencePr267MaskOfALibrary) {
  Case context;
  context.fails("", "Attention bias and Query/Key/Value should be on the same device")
      .frames({forward("y = attend(q, k, v, mask)"), train(40)});
  context.operand("query", "q", OperandKind::kLocal, "cuda:7");
  Event mask = made("cuda:0",
                    {lib("xformers", "attn_bias.py", 90, "BlockDiagonalMask.from_seqlens"),
                     forward("mask = BlockDiagonalMask.from_seqlens(s)", 20), train(40)},
                    "xformers");
  mask.source = DeviceSource::kCurrent;
  mask.device_text = "\"cuda\"";
  context.operand("bias", "mask", OperandKind::kLocal, "cuda:0", {mask});
  expect_code(context, "DV102");
}

TEST(FreshTensor, VllmPr43926DefaultBesideMeta) {
  Case context;
  context.fails("aten::mul", "Tensor on device meta is not on the expected device cpu!")
      .frames({lib("vllm", "rotary.py", 60, "Rope._compute_cos_sin_cache", "freqs = t * inv_freq")});
  context.operand(
      "self", "t", OperandKind::kLocal, "cpu",
      {made("cpu",
            {lib("vllm", "rotary.py", 55, "Rope._compute_cos_sin_cache", "t = torch.arange(n, dtype=torch.float)")},
            "vllm")});
  context.operand("other", "inv_freq", OperandKind::kLocal, "meta");
  expect_operand(context, expect_code(context, "DV102"), "t");
}

TEST(FreshTensor, InForwardOfTheProgram) {
  Case context;
  context.mixes("aten::add", "cuda:0", "cpu")
      .frames({forward("return x + noise"), call_impl(), train(50, "y = net(x)")});
  context.operand("self", "x", OperandKind::kInput, "cuda:0");
  Event fresh = made("cpu", {forward("noise = torch.randn(4, 8)", 29), call_impl(), train(50, "y = net(x)")});
  fresh.op = "aten::randn";
  context.operand("other", "noise", OperandKind::kLocal, "cpu", {fresh});
  const auto finding = expect_code(context, "DV102");
  ASSERT_TRUE(finding.fixes.front().edit);
  EXPECT_EQ(finding.fixes.front().edit->after, "noise = torch.randn(4, 8, device=x.device)");
  EXPECT_EQ(finding.fixes.front().edit->line, 29);
}

TEST(FreshTensor, NotWhereItFollowsAPeer) {
  Case context;
  context.mixes("aten::add", "cuda:0", "cuda:1").frames({forward("return x + noise"), train(50)});
  context.operand("self", "x", OperandKind::kInput, "cuda:0");
  context.operand("other", "noise", OperandKind::kLocal, "cuda:1",
                  {made("cuda:1", {forward("noise = torch.randn(4, device=h.device)", 29), train(50)})});
  for (const auto& finding : diagnose(context.facts)) EXPECT_NE(finding.code, "DV102");
}

TEST(HostBoundary, Ogb68DataNotMoved) {
  Case context;
  context.module("", "GCN", {weight("cuda:0")});
  context
      .fails("aten::index_select",
             "Expected object of device type cuda but got device type cpu for argument #3 'index' in call to "
             "_th_index_select")
      .frames({lib("torch", "torch/nn/functional.py", 1700, "embedding"), forward("x = self.atom_encoder(batch.x)"),
               train(30)});
  context.operand("weight", "self.weight", OperandKind::kParameter, "cuda:0").qualified_name = "atom_encoder.weight";
  context
      .operand("index", "batch.x", OperandKind::kInput, "cpu",
               {event(EventKind::kLoaded, "cpu", "DataLoader",
                      {lib("torch", "torch/utils/data/_utils/fetch.py", 50, "fetch"), train(20)})})
      .offending = true;
  const auto finding = expect_code(context, "DV103");
  expect_operand(context, finding, "batch.x");
  EXPECT_EQ(finding.fixes.front().kind, FixKind::kCreationSite);
}

TEST(HostBoundary, AMetricThatNobodyMovedGoesToTheGpuOfItsRank) {
  Case context;
  context.mixes("aten::add", "cuda:0", "cpu").frames({lib("torchmetrics", "stat_scores.py", 77, "update"), train(29)});
  context.model().expression = "accuracy";
  context.module("", "MulticlassAccuracy", {buffer("cpu", "tp", false)});
  auto& state = context.operand("self", "self.tp", OperandKind::kBuffer, "cpu");
  state.qualified_name = "tp";
  state.offending = true;
  context.operand("other", "tp", OperandKind::kLocal, "cuda:0");
  expect_fix(expect_code(context, "DV103"), FixKind::kCreationSite, "accuracy.to(\"cuda:0\")");
  context.facts.process.world_size = context.facts.process.device_count = 2;
  context.facts.process.current_device = "cuda:0";
  context.facts.process.set_device_called = true;
  expect_fix(expect_code(context, "DV103"), FixKind::kCreationSite, "accuracy.to(\"cuda\")");
}

TEST(HostBoundary, ALoaderThatAcceleratePreparedNothingOf) {
  Case context;
  context.module("", "Forecaster", {weight("cuda:0")});
  context.mixes("aten::addmm", "cuda:0", "cpu").frames({forward("return self.value(past)"), train(80)});
  context
      .operand("mat1", "past", OperandKind::kInput, "cpu",
               {event(EventKind::kLoaded, "cpu", "DataLoader",
                      {lib("torch", "torch/utils/data/_utils/fetch.py", 50, "fetch"), train(79)})})
      .offending = true;
  Event prepared = moved("cuda:0", {own("train.py", 104, "main", "model = accelerator.prepare(model)")});
  prepared.owner = {"accelerate", "Accelerator.prepare", "accelerator.device", {}};
  context.operand("bias", "self.value.bias", OperandKind::kParameter, "cuda:0", {prepared}).qualified_name =
      "value.bias";
  const auto finding = expect_code(context, "DV103");
  expect_evidence(finding, "was not passed to accelerator.prepare, at train.py:104");
  EXPECT_EQ(finding.fixes.front().text.text(), "pass the loader to accelerator.prepare as well, at train.py:104");
}

TEST(HostBoundary, EfficientNet52DiscardedMove) {
  Case context;
  context.module("", "EfficientNet", {weight("cuda:0")});
  context
      .fails("aten::convolution",
             "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same")
      .frames({lib("torch", "torch/nn/modules/conv.py", 340, "Conv2d._conv_forward"), call_impl(),
               own("infer.py", 12, "<module>", "out = model(img)")});
  auto& image =
      context.operand("input", "img", OperandKind::kLocal, "cpu",
                      {made("cpu", {own("infer.py", 8, "<module>", "img = tfms(Image.open(path)).unsqueeze(0)")})});
  image.offending = true;
  Event dropped = moved("cuda:0", {own("infer.py", 10, "<module>", "img.to(device)")});
  dropped.op = "Tensor.to";
  dropped.discarded = true;
  dropped.amended = "img = img.to(device)";
  image.copies = {dropped};
  context.operand("weight", "self.weight", OperandKind::kParameter, "cuda:0").qualified_name = "conv.weight";
  const auto finding = expect_code(context, "DV103");
  expect_evidence(finding, "discarded");
  ASSERT_TRUE(finding.fixes.front().edit);
  EXPECT_EQ(finding.fixes.front().edit->after, "img = img.to(device)");
}

TEST(HostBoundary, TLens1508AliasBeforeTheMove) {
  Case context;
  context.mixes("aten::cat", "cpu", "cuda:0", Phase::kGenerate)
      .frames({lib("transformer_lens", "HookedTransformer.py", 2300, "HookedTransformer.generate",
                   "tokens = torch.cat([input_tokens, new], dim=1)"),
               train(10)});
  auto& alias = context.operand("tensors[0]", "input_tokens", OperandKind::kInput, "cpu",
                                {made("cpu", {train(8, "ids = torch.tensor([[1, 2]])")})});
  alias.copies = {moved(
      "cuda:0",
      {lib("transformer_lens", "HookedTransformer.py", 2200, "HookedTransformer.generate", "input = input.to(device)")},
      "transformer_lens")};
  context.operand("tensors[1]", "new", OperandKind::kLocal, "cuda:0");
  expect_evidence(expect_code(context, "DV103"), "still refers to the original");
}

TEST(HostBoundary, Yolov52106NumPy) {
  Case context;
  context.fails(
      "", "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
      SentenceKind::kNumpy);
  context.operand("self", "o", OperandKind::kLocal, "cuda:0");
  expect_fix(expect_code(context, "DV103"), FixKind::kUseSite, ".cpu().numpy()");
}

TEST(HostBoundary, AnArgumentThatIsReadOnTheHost) {
  Case context;
  context.fails("", "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
                SentenceKind::kHost);
  context.operand("", "x", OperandKind::kLocal, "cuda:0");
  context.operand("lengths", "lengths", OperandKind::kLocal, "cuda:0").offending = true;
  const auto& found = expect_code(context, "DV103");
  expect_operand(context, found, "lengths");
  expect_fix(found, FixKind::kUseSite, ".cpu()");
}

TEST(HostBoundary, MistralInference252HostTensorInNccl) {
  Case context;
  context.fails("c10d::broadcast_", "No backend type associated with device type cpu", SentenceKind::kGroup);
  context.operand("tensor", "prompt_length", OperandKind::kLocal, "cpu");
  expect_operand(context, expect_code(context, "DV103"), "prompt_length");
}

TEST(HostBoundary, NormOfWhatFsdpKeepsOnTheCpu) {
  Case context;
  context.fails("c10d::allreduce_", "No backend type associated with device type cpu", SentenceKind::kGroup);
  context.module("", "FSDPModel", {weight("cpu")});
  const auto found = expect_code(context, "DV103");
  expect_evidence(found, "FSDP keeps the sharded parameters and their gradients on the CPU (CPUOffloadPolicy)");
  EXPECT_EQ(found.fixes.size(), 1U);
  context.model().modules.front().tensors.front().device = "cuda:0";
  EXPECT_EQ(expect_code(context, "DV103").evidence.size(), 1U);
}

TEST(HostBoundary, ModelLeftBehind) {
  Case context;
  context.model().expression = "net";
  context.module("", "Net", {weight("cpu"), weight("cpu", "bias")});
  context.mixes("aten::addmm", "cuda:0", "cpu")
      .frames({lib("torch", "torch/nn/modules/linear.py", 125, "Linear.forward"), train(20)});
  context.operand("mat1", "input", OperandKind::kInput, "cuda:0", {moved("cuda:0", {train(18, "x = x.cuda()")})});
  context.operand("mat2", "self.weight", OperandKind::kParameter, "cpu").qualified_name = "net.weight";
  expect_fix(expect_code(context, "DV103"), FixKind::kCreationSite, "net.to(\"cuda:0\")");
}

TEST(HostBoundary, Transformers43350PositionIdsOfTheCaller) {
  Case context;
  context.module("model.rotary_emb", "LlamaRotaryEmbedding", {buffer("cuda:0", "inv_freq", false)});
  context.mixes("aten::bmm", "cuda:0", "cpu")
      .frames({lib("transformers", "modeling_llama.py", 150, "LlamaRotaryEmbedding.forward", "", "model.rotary_emb"),
               train(9)});
  context.operand("self", "inv_freq_expanded", OperandKind::kLocal, "cuda:0");
  context.operand("mat2", "position_ids_expanded", OperandKind::kLocal, "cpu",
                  {computed("cpu", "aten::expand", "position_ids"),
                   made("cpu", {train(5, "position_ids = torch.arange(8)[None]")})});
  expect_code(context, "DV103");
}

TEST(FreshTensor, MmyoloPr397MadeByAFunctionThatItCalled) {
  Case context;
  context.mixes("aten::add", "cuda:0", "cpu")
      .frames({own("head.py", 20, "decode", "return pred + grid"), train(40, "decode(pred)")});
  context.operand("self", "pred", OperandKind::kLocal, "cuda:0");
  context.operand("other", "grid", OperandKind::kLocal, "cpu",
                  {made("cpu", {own("head.py", 9, "priors", "return torch.arange(n)"),
                                own("head.py", 19, "decode", "grid = priors(n)"), train(40, "decode(pred)")})});
  expect_operand(context, expect_code(context, "DV102"), "grid");
}

TEST(HostBoundary, MemoryOfNumPyCannotBeMadeElsewhere) {
  Case context;
  context.mixes("aten::scatter", "cpu", "cuda:0").frames({own("run.py", 9, "<module>", "out.scatter_(1, index, 1.0)")});
  context.operand("self", "out", OperandKind::kLocal, "cuda:0");
  auto wrapped = made("cpu", {own("run.py", 5, "<module>", "index = torch.from_numpy(array)")});
  wrapped.op = "aten::from_numpy";
  context.operand("index", "index", OperandKind::kLocal, "cpu", {wrapped}).offending = true;
  expect_operand(context, expect_code(context, "DV103"), "index");
}

TEST(FreshTensor, TheGradientThatABackwardReturned) {
  Case context;
  context.fails("",
                "Function ClampBackward returned an invalid gradient at index 0 - expected device cuda:0 but got cpu",
                SentenceKind::kGradient, Phase::kBackward);
  context.frames({train(20, "loss.backward()")});
  context.operand("tensor", "x", OperandKind::kTemporary, "cuda:0");
  context.operand("gradient", "grad", OperandKind::kTemporary, "cpu",
                  {made("cpu", {own("clamp.py", 9, "Clamp.backward", "grad = torch.zeros(x.shape)")})});
  context.facts.failure.operands.back().provenance.front().op = "aten::zeros";
  expect_operand(context, expect_code(context, "DV102"), "grad");
}

TEST(FreshTensor, NotWhatAModuleAllocatedForItself) {
  Case context;
  context.mixes("aten::add", "cpu", "cuda:0").frames({forward("return self.lin(x) + bias"), train(20)});
  context.operand("other", "bias", OperandKind::kLocal, "cuda:0");
  auto own_memory = made("cpu", {forward("return self.lin(x) + bias")});
  own_memory.op = "aten::empty";
  context.operand("self", "self.lin(x)", OperandKind::kTemporary, "cpu", {own_memory});
  for (const auto& finding : diagnose(context.facts)) EXPECT_NE(finding.code, "DV102");
}

}  // namespace devsan::diagnose::test
