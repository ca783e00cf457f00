// Tensors that are made, kept or left in the wrong place by the code around a model.

#include "diagnose/case.h"

namespace devsan::diagnose::test {

using model::RepairKind;

namespace {

const std::string kSame = "Expected all tensors to be on the same device";

Frame forward(std::string source, int line = 30) {
  return own("net.py", line, "Net.forward", std::move(source), "net");
}

Frame train(int line, std::string source = "") { return own("train.py", line, "train", std::move(source)); }

}  // namespace

TEST(FreshTensor, Yolov71101) {
  Case scene;
  scene
      .fails("aten::index", "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
             SentenceKind::kIndex)
      .frames({own("loss.py", 759, "ComputeLossOTA.build_targets", "from_which_layer = from_which_layer[fg_mask]"),
               own("loss.py", 600, "ComputeLossOTA.__call__", "bs, as_ = self.build_targets(p, targets, imgs)"),
               train(300)});
  scene.operand(
      "self", "from_which_layer", OperandKind::kLocal, "cpu",
      {made("cpu", {own("loss.py", 685, "ComputeLossOTA.build_targets",
                        "from_which_layer.append(torch.ones(size=(len(b),)) * i)"),
                    own("loss.py", 600, "ComputeLossOTA.__call__", "bs, as_ = self.build_targets(p, targets, imgs)"),
                    train(300)})});
  scene.operand("indices[0]", "fg_mask", OperandKind::kLocal, "cuda:0").odd = true;
  const auto finding = expect_code(scene, "DV102");
  expect_operand(scene, finding, "from_which_layer");
  expect_repair(finding, RepairKind::kCreationSite, "loss.py:685");
  ASSERT_TRUE(finding.repairs.front().edit);
  EXPECT_EQ(finding.repairs.front().edit->after,
            "from_which_layer.append(torch.ones(size=(len(b),), device=fg_mask.device) * i)");
}

TEST(FreshTensor, Graphnet328TargetInsideTheLoss) {
  Case scene;
  scene.mixes("aten::nll_loss_forward", "cuda:0", "cpu", Phase::kLoss)
      .frames({lib("torch", "torch/nn/functional.py", 3400, "cross_entropy"),
               lib("graphnet", "loss_functions.py", 200, "MultiClassificationCrossEntropyLoss._forward",
                   "return cross_entropy(prediction.float(), tensor_target, reduction=\"none\")", "loss"),
               train(40)});
  scene.operand("self", "prediction", OperandKind::kInput, "cuda:0");
  scene
      .operand("target", "tensor_target", OperandKind::kLocal, "cpu",
               {made("cpu",
                     {lib("graphnet", "loss_functions.py", 195, "MultiClassificationCrossEntropyLoss._forward",
                          "tensor_target = torch.tensor(values)"),
                      train(40)},
                     "graphnet")})
      .odd = true;
  expect_operand(scene, expect_code(scene, "DV102"), "tensor_target");
}

TEST(FreshTensor, MonaiGenPr371TargetsOnTheCurrentDevice) {
  Case scene;
  scene.mixes("aten::sub", "cuda:1", "cuda:0", Phase::kLoss)
      .frames({lib("monai", "adversarial_loss.py", 120, "PatchAdversarialLoss.forward", "", "loss"), train(40)});
  scene.operand("self", "input", OperandKind::kInput, "cuda:1");
  scene.operand("other", "target", OperandKind::kLocal, "cuda:0",
                {made("cuda:0",
                      {lib("monai", "adversarial_loss.py", 100, "PatchAdversarialLoss.get_target_tensor",
                           "torch.ones(input.shape, device=\"cuda\")"),
                       lib("monai", "adversarial_loss.py", 118, "PatchAdversarialLoss.forward", "", "loss"), train(40)},
                      "monai")});
  expect_code(scene, "DV102");
}

TEST(FreshTensor, MistralInferencePr267MaskOfALibrary) {
  Case scene;
  scene.fails("", "Attention bias and Query/Key/Value should be on the same device")
      .frames({forward("y = attend(q, k, v, mask)"), train(40)});
  scene.operand("query", "q", OperandKind::kLocal, "cuda:7");
  Event mask = made("cuda:0",
                    {lib("xformers", "attn_bias.py", 90, "BlockDiagonalMask.from_seqlens"),
                     forward("mask = BlockDiagonalMask.from_seqlens(s)", 20), train(40)},
                    "xformers");
  mask.source = DeviceSource::kCurrent;
  mask.device_text = "\"cuda\"";
  scene.operand("bias", "mask", OperandKind::kLocal, "cuda:0", {mask});
  expect_code(scene, "DV102");
}

TEST(FreshTensor, VllmPr43926DefaultBesideMeta) {
  Case scene;
  scene.fails("aten::mul", "Tensor on device meta is not on the expected device cpu!")
      .frames({lib("vllm", "rotary.py", 60, "Rope._compute_cos_sin_cache", "freqs = t * inv_freq")});
  scene.operand(
      "self", "t", OperandKind::kLocal, "cpu",
      {made("cpu",
            {lib("vllm", "rotary.py", 55, "Rope._compute_cos_sin_cache", "t = torch.arange(n, dtype=torch.float)")},
            "vllm")});
  scene.operand("other", "inv_freq", OperandKind::kLocal, "meta");
  expect_operand(scene, expect_code(scene, "DV102"), "t");
}

TEST(FreshTensor, InForwardOfTheProgram) {
  Case scene;
  scene.mixes("aten::add", "cuda:0", "cpu").frames({forward("return x + noise"), call_impl(), train(50, "y = net(x)")});
  scene.operand("self", "x", OperandKind::kInput, "cuda:0");
  Event fresh = made("cpu", {forward("noise = torch.randn(4, 8)", 29), call_impl(), train(50, "y = net(x)")});
  fresh.op = "aten::randn";
  scene.operand("other", "noise", OperandKind::kLocal, "cpu", {fresh});
  const auto finding = expect_code(scene, "DV102");
  ASSERT_TRUE(finding.repairs.front().edit);
  EXPECT_EQ(finding.repairs.front().edit->after, "noise = torch.randn(4, 8, device=x.device)");
  EXPECT_EQ(finding.repairs.front().edit->line, 29);
}

TEST(FreshTensor, NotWhereItFollowsAPeer) {
  Case scene;
  scene.mixes("aten::add", "cuda:0", "cuda:1").frames({forward("return x + noise"), train(50)});
  scene.operand("self", "x", OperandKind::kInput, "cuda:0");
  scene.operand("other", "noise", OperandKind::kLocal, "cuda:1",
                {made("cuda:1", {forward("noise = torch.randn(4, device=h.device)", 29), train(50)})});
  for (const auto& finding : diagnose(scene.facts)) EXPECT_NE(finding.code, "DV102");
}

TEST(HostBoundary, Ogb68DataNotMoved) {
  Case scene;
  scene.module("", "GCN", {weight("cuda:0")});
  scene
      .fails("aten::index_select",
             "Expected object of device type cuda but got device type cpu for argument #3 'index' in call to "
             "_th_index_select")
      .frames({lib("torch", "torch/nn/functional.py", 1700, "embedding"), forward("x = self.atom_encoder(batch.x)"),
               train(30)});
  scene.operand("weight", "self.weight", OperandKind::kParameter, "cuda:0").known_as = "atom_encoder.weight";
  scene
      .operand("index", "batch.x", OperandKind::kInput, "cpu",
               {event(EventKind::kLoaded, "cpu", "DataLoader",
                      {lib("torch", "torch/utils/data/_utils/fetch.py", 50, "fetch"), train(20)})})
      .odd = true;
  const auto finding = expect_code(scene, "DV103");
  expect_operand(scene, finding, "batch.x");
  EXPECT_EQ(finding.repairs.front().kind, RepairKind::kCreationSite);
}

TEST(HostBoundary, EfficientNet52DiscardedMove) {
  Case scene;
  scene.module("", "EfficientNet", {weight("cuda:0")});
  scene
      .fails("aten::convolution",
             "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same")
      .frames({lib("torch", "torch/nn/modules/conv.py", 340, "Conv2d._conv_forward"), call_impl(),
               own("infer.py", 12, "<module>", "out = model(img)")});
  auto& image =
      scene.operand("input", "img", OperandKind::kLocal, "cpu",
                    {made("cpu", {own("infer.py", 8, "<module>", "img = tfms(Image.open(path)).unsqueeze(0)")})});
  image.odd = true;
  Event dropped = moved("cuda:0", {own("infer.py", 10, "<module>", "img.to(device)")});
  dropped.discarded = true;
  image.copies = {dropped};
  scene.operand("weight", "self.weight", OperandKind::kParameter, "cuda:0").known_as = "conv.weight";
  const auto finding = expect_code(scene, "DV103");
  expect_evidence(finding, "thrown away");
  ASSERT_TRUE(finding.repairs.front().edit);
  EXPECT_EQ(finding.repairs.front().edit->after, "img = img.to(device)");
}

TEST(HostBoundary, TLens1508AliasBeforeTheMove) {
  Case scene;
  scene.mixes("aten::cat", "cpu", "cuda:0", Phase::kGenerate)
      .frames({lib("transformer_lens", "HookedTransformer.py", 2300, "HookedTransformer.generate",
                   "tokens = torch.cat([input_tokens, new], dim=1)"),
               train(10)});
  auto& alias = scene.operand("tensors[0]", "input_tokens", OperandKind::kInput, "cpu",
                              {made("cpu", {train(8, "ids = torch.tensor([[1, 2]])")})});
  alias.copies = {moved(
      "cuda:0",
      {lib("transformer_lens", "HookedTransformer.py", 2200, "HookedTransformer.generate", "input = input.to(device)")},
      "transformer_lens")};
  scene.operand("tensors[1]", "new", OperandKind::kLocal, "cuda:0");
  expect_evidence(expect_code(scene, "DV103"), "still means the original");
}

TEST(HostBoundary, Yolov52106NumPy) {
  Case scene;
  scene.fails(
      "", "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
      SentenceKind::kNumpy);
  scene.operand("self", "o", OperandKind::kLocal, "cuda:0");
  expect_repair(expect_code(scene, "DV103"), RepairKind::kUseSite, ".cpu().numpy()");
}

TEST(HostBoundary, MistralInference252HostTensorInNccl) {
  Case scene;
  scene.fails("c10d::broadcast_", "No backend type associated with device type cpu", SentenceKind::kGroup);
  scene.operand("tensor", "prompt_length", OperandKind::kLocal, "cpu");
  expect_operand(scene, expect_code(scene, "DV103"), "prompt_length");
}

TEST(HostBoundary, ModelLeftBehind) {
  Case scene;
  scene.model().expression = "net";
  scene.module("", "Net", {weight("cpu"), weight("cpu", "bias")});
  scene.mixes("aten::addmm", "cuda:0", "cpu")
      .frames({lib("torch", "torch/nn/modules/linear.py", 125, "Linear.forward"), train(20)});
  scene.operand("mat1", "input", OperandKind::kInput, "cuda:0", {moved("cuda:0", {train(18, "x = x.cuda()")})});
  scene.operand("mat2", "self.weight", OperandKind::kParameter, "cpu").known_as = "net.weight";
  expect_repair(expect_code(scene, "DV103"), RepairKind::kCreationSite, "net.to(\"cuda:0\")");
}

TEST(HostBoundary, Transformers43350PositionIdsOfTheCaller) {
  Case scene;
  scene.module("model.rotary_emb", "LlamaRotaryEmbedding", {buffer("cuda:0", "inv_freq", false)});
  scene.mixes("aten::bmm", "cuda:0", "cpu")
      .frames({lib("transformers", "modeling_llama.py", 150, "LlamaRotaryEmbedding.forward", "", "model.rotary_emb"),
               train(9)});
  scene.operand("self", "inv_freq_expanded", OperandKind::kLocal, "cuda:0");
  scene.operand("mat2", "position_ids_expanded", OperandKind::kLocal, "cpu",
                {computed("cpu", "aten::expand", "position_ids"),
                 made("cpu", {train(5, "position_ids = torch.arange(8)[None]")})});
  expect_code(scene, "DV103");
}

TEST(UnregisteredState, Lightning3674PlainAttribute) {
  Case scene;
  scene.module("", "Net", {weight("cuda:0")});
  scene.mixes("aten::mul", "cuda:0", "cpu").frames({forward("return x * self.scale"), train(40)});
  scene.operand("self", "x", OperandKind::kInput, "cuda:0");
  scene
      .operand("other", "self.scale", OperandKind::kAttribute, "cpu",
               {made("cpu", {own("net.py", 10, "Net.__init__", "self.scale = torch.ones(8)"), train(5)})})
      .holder = "net";
  const auto finding = expect_code(scene, "DV108");
  expect_repair(finding, RepairKind::kCreationSite, "register_buffer");
  expect_evidence(finding, "net.py:10");
}

TEST(UnregisteredState, TokenLearner4ListOfModules) {
  Case scene;
  scene
      .fails("aten::convolution",
             "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same")
      .frames({lib("torch", "torch/nn/modules/conv.py", 340, "Conv2d._conv_forward"),
               forward("a = self.tokenizers[i](x)"), train(40)});
  scene.module("", "TokenLearner", {weight("cuda:0")});
  scene.operand("input", "input", OperandKind::kLocal, "cuda:0");
  auto& held = scene.operand(
      "weight", "self.weight", OperandKind::kParameter, "cpu",
      {made("cpu", {own("net.py", 9, "Net.__init__", "self.tokenizers = [Conv2d(3, 8, 1) for _ in range(4)]")})});
  held.registered = false;
  held.holder = "tokenizers[0]";
  expect_repair(expect_code(scene, "DV108"), RepairKind::kCreationSite, "nn.ModuleList");
}

TEST(UnregisteredState, Neural3dmm1UnderDataParallel) {
  Case scene;
  scene.model().wrappers = {"torch.nn.DataParallel"};
  scene.mixes("aten::mm", "cuda:1", "cuda:0")
      .frames({forward("return x @ self.operator"),
               lib("torch", "torch/nn/parallel/data_parallel.py", 190, "DataParallel.forward"), train(40)});
  scene.operand("self", "x", OperandKind::kInput, "cuda:1");
  scene
      .operand("mat2", "self.operator", OperandKind::kAttribute, "cuda:0",
               {moved("cuda:0", {own("net.py", 10, "Net.__init__", "self.operator = op.cuda()"), train(5)})})
      .holder = "net";
  expect_evidence(expect_code(scene, "DV108"), "replicas");
}

TEST(UnregisteredState, Lightning3674ConstantOfTheFile) {
  Case scene;
  scene.mixes("aten::sub", "cuda:0", "cpu").frames({forward("return x - MEAN"), call_impl(), train(40)});
  scene.operand("self", "x", OperandKind::kInput, "cuda:0");
  scene.operand("other", "MEAN", OperandKind::kGlobal, "cpu",
                {made("cpu", {own("net.py", 3, "<module>", "MEAN = torch.tensor([0.5])")})});
  expect_operand(scene, expect_code(scene, "DV108"), "MEAN");
}

TEST(FreshTensor, MmyoloPr397MadeByAFunctionThatItCalled) {
  Case scene;
  scene.mixes("aten::add", "cuda:0", "cpu")
      .frames({own("head.py", 20, "decode", "return pred + grid"), train(40, "decode(pred)")});
  scene.operand("self", "pred", OperandKind::kLocal, "cuda:0");
  scene.operand("other", "grid", OperandKind::kLocal, "cpu",
                {made("cpu", {own("head.py", 9, "priors", "return torch.arange(n)"),
                              own("head.py", 19, "decode", "grid = priors(n)"), train(40, "decode(pred)")})});
  expect_operand(scene, expect_code(scene, "DV102"), "grid");
}

TEST(StaleCache, NotWhatAScriptMade) {
  Case scene;
  scene.mixes("aten::mm", "cuda:1", "cuda:0")
      .frames({forward("return x @ self.op"), call_impl(), own("run.py", 9, "<module>", "net(x)")});
  scene.operand("self", "x", OperandKind::kInput, "cuda:1");
  scene
      .operand("mat2", "self.op", OperandKind::kAttribute, "cuda:0",
               {made("cuda:0", {own("run.py", 3, "<module>", "op = torch.eye(8, device=\"cuda\")")})})
      .holder = "net";
  expect_operand(scene, expect_code(scene, "DV108"), "self.op");
}

TEST(UnregisteredState, NotARegisteredBuffer) {
  Case scene;
  scene.mixes("aten::mul", "cuda:0", "cpu").frames({forward("return x * self.scale"), train(40)});
  scene.operand("self", "x", OperandKind::kInput, "cuda:0");
  scene.operand("other", "self.scale", OperandKind::kBuffer, "cpu").holder = "net";
  for (const auto& finding : diagnose(scene.facts)) EXPECT_NE(finding.code, "DV108");
}

TEST(StaleCache, RotaryTorchPr48PrimedOnTheHost) {
  Case scene;
  scene.facts.failure.step = 1;
  scene.mixes("aten::mul", "cuda:0", "cpu")
      .frames({own("rotary.py", 90, "RotaryEmbedding.forward", "return t * self.cached_freqs", "rotary"), train(20)});
  scene.operand("self", "t", OperandKind::kInput, "cuda:0");
  Event primed =
      made("cpu", {own("rotary.py", 80, "RotaryEmbedding.forward", "self.cached_freqs = freqs", "rotary"), train(10)});
  primed.step = 0;
  scene.operand("other", "self.cached_freqs", OperandKind::kAttribute, "cpu", {primed}).holder = "rotary";
  const auto finding = expect_code(scene, "DV113");
  expect_repair(finding, RepairKind::kCreationSite, "device part of the key");
}

TEST(StaleCache, Torchvision1255WithoutSteps) {
  Case scene;
  scene.mixes("aten::add", "cuda:0", "cuda:1")
      .frames(
          {own("anchors.py", 90, "AnchorGenerator.forward", "boxes + anchors", "rpn.anchors"), train(20, "head(b)")});
  scene.operand("self", "boxes", OperandKind::kLocal, "cuda:1");
  scene
      .operand(
          "other", "self._cache[key]", OperandKind::kAttribute, "cuda:0",
          {made("cuda:0", {own("anchors.py", 70, "AnchorGenerator.grid_anchors", "torch.arange(w, device=device)"),
                           own("anchors.py", 88, "AnchorGenerator.forward", "", "rpn.anchors"), train(19, "head(a)")})})
      .holder = "rpn.anchors";
  expect_code(scene, "DV113");
}

TEST(StaleCache, UnslothPr2862ClassLevelTable) {
  Case scene;
  scene.mixes("aten::mul", "cuda:1", "cuda:0")
      .frames({lib("unsloth", "llama.py", 300, "LlamaAttention_fast_forward", "", "model.layers.3"), train(20)});
  scene.operand("self", "Q", OperandKind::kLocal, "cuda:1");
  Event made_once = made(
      "cuda:0", {lib("unsloth", "llama.py", 1200, "LlamaRotaryEmbedding._set_cos_sin_cache"), train(15)}, "unsloth");
  scene.operand("other", "cos", OperandKind::kGlobal, "cuda:0", {made_once});
  expect_evidence(expect_code(scene, "DV113"), "Every instance shares it");
}

TEST(Sidecar, PeftPr145LoraOnTheFirstGpu) {
  Case scene;
  scene.map({{"model.layers.0", "cuda:0"}, {"model.layers.1", "cuda:1"}});
  scene.module("model.layers.1.q_proj", "lora.Linear", {}, "cuda:1");
  scene.mixes("aten::addmm", "cuda:1", "cuda:0")
      .frames({lib("peft", "peft/tuners/lora.py", 400, "Linear.forward", "", "model.layers.1.q_proj")});
  scene.operand("mat1", "x", OperandKind::kLocal, "cuda:1");
  auto& adapter = scene.operand("mat2", "self.lora_A.weight", OperandKind::kParameter, "cuda:0",
                                {made("cuda:0", {lib("peft", "peft/tuners/lora.py", 200, "Linear.__init__")}, "peft")});
  adapter.known_as = "model.layers.1.q_proj.lora_A.default.weight";
  adapter.beside = "model.layers.1.q_proj.base_layer.weight";
  adapter.beside_device = "cuda:1";
  const auto finding = expect_code(scene, "DV109");
  expect_evidence(finding, "base_layer.weight, which is on cuda:1");
}

TEST(Sidecar, ColossalAi3554LoraAfterTheMove) {
  Case scene;
  scene.mixes("aten::mm", "cuda:1", "cpu").frames({own("lora.py", 40, "LoraLinear.forward", "", "h.0.attn"), train(4)});
  scene.operand("self", "x", OperandKind::kLocal, "cuda:1");
  scene.operand("mat2", "self.lora_A", OperandKind::kParameter, "cpu").known_as = "h.0.attn.lora_A";
  expect_code(scene, "DV109");
}

TEST(Sidecar, Trl2760QuantState) {
  Case scene;
  scene.mixes("bitsandbytes::dequantize_4bit", "cuda:0", "cuda:1")
      .frames({lib("bitsandbytes", "bitsandbytes/functional.py", 1000, "dequantize_4bit")});
  scene.operand("A", "B", OperandKind::kParameter, "cuda:0").known_as = "layers.0.q.weight";
  auto& state = scene.operand("absmax", "quant_state.absmax", OperandKind::kAttribute, "cuda:1");
  state.beside = "layers.0.q.weight";
  state.beside_device = "cuda:0";
  state.holder = "layers.0.q";
  expect_operand(scene, expect_code(scene, "DV109"), "quant_state.absmax");
}

TEST(OptimizerState, Pytorch7321Adagrad) {
  Case scene;
  scene.module("", "Net", {weight("cuda:0")});
  Event move = moved("cuda:0", {own("train.py", 14, "main", "net.cuda()")});
  move.sequence = 9;
  scene.model().placements = {move};
  model::Optimizer adagrad;
  adagrad.type = "torch.optim.Adagrad";
  adagrad.built = made("cpu", {own("train.py", 12, "main", "opt = torch.optim.Adagrad(net.parameters())")});
  adagrad.built.sequence = 4;
  adagrad.states = {{"sum", "weight", "cpu", "cuda:0"}};
  scene.facts.optimizers = {adagrad};
  scene.mixes("aten::addcmul_", "cpu", "cuda:0", Phase::kOptimizer)
      .frames({lib("torch", "torch/optim/adagrad.py", 350, "_single_tensor_adagrad"),
               own("train.py", 30, "main", "opt.step()")});
  scene.operand("self", "state_sum", OperandKind::kOptimizerState, "cpu");
  scene.operand("tensor1", "grad", OperandKind::kLocal, "cuda:0");
  const auto finding = expect_code(scene, "DV110");
  expect_evidence(finding, "train.py:12, before the model was moved, at train.py:14");
  expect_repair(finding, RepairKind::kCreationSite, "then build the optimizer");
}

TEST(OptimizerState, UniCore42Ema) {
  Case scene;
  scene.mixes("aten::sub", "cuda:0", "cpu", Phase::kOptimizer)
      .frames({own("ema.py", 30, "ExponentialMovingAverage.update", "diff = self.param - new_param"), train(30)});
  scene.operand("self", "self.param", OperandKind::kOptimizerState, "cpu",
                {made("cpu", {own("ema.py", 10, "ExponentialMovingAverage.__init__", "self.param = flat.clone()")})});
  scene.operand("other", "new_param", OperandKind::kLocal, "cuda:0");
  expect_operand(scene, expect_code(scene, "DV110"), "self.param");
}

TEST(OptimizerState, Shampoo3LoadedOnTheHost) {
  Case scene;
  model::Optimizer shampoo;
  shampoo.type = "Shampoo";
  shampoo.loaded = event(EventKind::kLoaded, "cpu", "torch.load",
                         {train(12, "opt.load_state_dict(torch.load(p, map_location=\"cpu\"))")});
  shampoo.loaded.sequence = 7;
  shampoo.states = {{"preconditioner", "w", "cpu", "cuda:0"}};
  scene.facts.optimizers = {shampoo};
  scene.mixes("aten::mm", "cuda:0", "cpu", Phase::kOptimizer)
      .frames({own("shampoo.py", 90, "Preconditioner.precondition"), train(30)});
  scene.operand("self", "grad", OperandKind::kLocal, "cuda:0");
  scene.operand("mat2", "self.statistics[i]", OperandKind::kUnknown, "cpu");
  expect_evidence(expect_code(scene, "DV110"), "was loaded");
}

TEST(RandomAndDefault, Diffusers6501HostGenerator) {
  Case scene;
  scene.fails("aten::normal_", "Expected a 'cuda' device type for generator but found 'cpu'", SentenceKind::kGenerator);
  scene.operand("generator", "generator", OperandKind::kGenerator, "cpu");
  const auto finding = expect_code(scene, "DV111");
  expect_repair(finding, RepairKind::kCreationSite, "the numbers change");
  expect_operand(scene, finding, "generator");
}

TEST(RandomAndDefault, Rtfm47SamplerUnderADefaultDevice) {
  Case scene;
  scene.facts.process.default_device = "cuda:0";
  scene.facts.process.default_set = made("cuda:0", {train(2, "torch.set_default_device(\"cuda\")")});
  scene.fails("aten::randperm", "Expected a 'cuda' device type for generator but found 'cpu'", SentenceKind::kGenerator)
      .frames({lib("torch", "torch/utils/data/sampler.py", 150, "RandomSampler.__iter__"), train(12)});
  const auto finding = expect_code(scene, "DV111");
  EXPECT_EQ(finding.repairs.front().kind, RepairKind::kConfiguration);
  expect_evidence(finding, "train.py:2");
}

TEST(RandomAndDefault, Pytorch118084SameRootOtherWords) {
  Case scene;
  scene.facts.process.default_device = "cuda:0";
  scene
      .fails(
          "",
          "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
          SentenceKind::kNumpy)
      .frames({lib("torch", "torch/utils/data/sampler.py", 170, "RandomSampler.__iter__"), train(12)});
  Event permuted = made("cuda:0",
                        {lib("torch", "torch/utils/data/sampler.py", 168, "RandomSampler.__iter__",
                             "torch.randperm(n, generator=generator).numpy()")},
                        "torch");
  permuted.source = DeviceSource::kDefault;
  scene.operand("self", "torch.randperm(n)", OperandKind::kTemporary, "cuda:0", {permuted});
  expect_code(scene, "DV111");
}

TEST(RandomAndDefault, NotWithoutAChangedDefault) {
  Case scene;
  scene.facts.process.default_device = "cpu";
  scene.fails("", "can't convert cuda:0 device type tensor to numpy.", SentenceKind::kNumpy);
  expect_code(scene, "DV103");
}

TEST(Undecided, NothingKnown) {
  Case scene;
  scene.mixes("aten::add", "cuda:0", "cuda:1");
  scene.operand("self", "a", OperandKind::kUnknown, "cuda:0");
  scene.operand("other", "b", OperandKind::kUnknown, "cuda:1");
  const auto finding = expect_code(scene, "DV000");
  EXPECT_EQ(finding.candidates, (std::vector<std::string>{"DV101", "DV102", "DV115"}));
  EXPECT_EQ(finding.confidence, model::Confidence::kPossible);
  EXPECT_EQ(finding.operands.size(), 2u);
}

TEST(Undecided, EasyEdit204OperandsUnknownInAMappedModel) {
  Case scene;
  scene.map({{"a", "cuda:0"}, {"b", "cuda:1"}});
  scene.mixes("aten::mul", "cuda:0", "cuda:1")
      .frames({lib("transformers_modules", "modeling_qwen.py", 300, "apply_rotary")});
  scene.operand("self", "t_", OperandKind::kLocal, "cuda:0");
  scene.operand("other", "cos", OperandKind::kLocal, "cuda:1");
  const auto finding = expect_code(scene, "DV000");
  EXPECT_FALSE(finding.candidates.empty());
}

TEST(Undecided, TwoCausesFitAlike) {
  // The labels are on the host: nobody moved the batch, or the loss made them.
  Case scene;
  scene.mixes("aten::add", "cuda:0", "cpu").frames({forward("return x + bias"), train(9)});
  scene.operand("self", "x", OperandKind::kUnknown, "cuda:0");
  scene.operand("other", "bias", OperandKind::kUnknown, "cpu");
  const auto finding = expect_code(scene, "DV000");
  EXPECT_EQ(finding.candidates, (std::vector<std::string>{"DV103", "DV102", "DV108"}));
}

TEST(Undecided, NoFindingWithoutAFailure) { EXPECT_TRUE(diagnose(model::Facts{}).empty()); }

TEST(Undecided, OutOfMemoryIsNotAMatterOfPlaces) {
  Case scene;
  scene.fails("", "CUDA out of memory. Tried to allocate 2.00 GiB.", SentenceKind::kMemory);
  EXPECT_TRUE(diagnose(scene.facts).empty());
}

}  // namespace devsan::diagnose::test
