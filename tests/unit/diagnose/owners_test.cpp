// Several owners of one model, and what the process around it says.

#include "diagnose/case.h"

namespace devsan::diagnose::test {

using model::FixKind;

namespace {

Event dispatch(std::uint64_t sequence = 1) {
  Event event =
      moved("cuda:0", {own("load.py", 8, "main", "model = AutoModel.from_pretrained(path, device_map=\"auto\")")},
            "accelerate");
  event.owner.mechanism = "dispatch_model";
  event.sequence = sequence;
  return event;
}

Event move_of_model(std::string owner, Device device, Frame where) {
  Event event = moved(std::move(device), {std::move(where)}, std::move(owner));
  event.owner.mechanism = "Module.to";
  event.sequence = 2;
  return event;
}

}  // namespace

TEST(MovedAfterDispatch, Qwen920EngineMovesToItsRank) {
  Case context;
  context.facts.process.world_size = 8;
  context.facts.process.local_rank = context.facts.process.rank = 2;
  context.map({{"transformer.wte", "cuda:1"}, {"transformer.h.0", "cuda:1"}, {"transformer.h.1", "cuda:2"}});
  context.module("transformer.wte", "Embedding", {weight("cuda:2")}, "cuda:1");
  context.model().placements = {
      dispatch(), move_of_model("deepspeed", "cuda:2", own("finetune.py", 370, "train", "trainer.train()"))};
  context.mixes("aten::index_select", "cuda:2", "cuda:1")
      .frames({lib("torch", "torch/nn/functional.py", 2233, "embedding"),
               own("finetune.py", 370, "train", "trainer.train()")});
  context.operand("weight", "self.weight", OperandKind::kParameter, "cuda:2").qualified_name = "transformer.wte.weight";
  context.operand("indices", "input", OperandKind::kInput, "cuda:1", {hooked("cuda:1")});
  const auto finding = expect_code(context, "DV201");
  expect_evidence(finding, "brings its inputs to cuda:1");
  expect_evidence(finding, "8 ranks");
  expect_fix(finding, FixKind::kConfiguration, "no device_map");
  EXPECT_NE(finding.title.text().find("accelerate"), std::string::npos);
  EXPECT_NE(finding.title.text().find("deepspeed"), std::string::npos);
}

TEST(MovedAfterDispatch, Qwen745RefusedByAccelerate) {
  Case context;
  context.fails(
      "", "You can't train a model that has been loaded with `device_map='auto'` in any distributed mode. Please rerun",
      SentenceKind::kPlacement);
  context.map({{"a", "cuda:0"}, {"b", "cuda:1"}});
  const auto finding = expect_code(context, "DV203");
  EXPECT_EQ(finding.fixes.size(), 3u);  // the three legal set-ups
}

TEST(RefusedOwners, Zero3) {
  Case context;
  context.fails("", "DeepSpeed Zero-3 is not compatible with passing a `device_map`.", SentenceKind::kPlacement);
  expect_code(context, "DV203");
}

TEST(MovedAfterDispatch, AutoAwq668TheHookMovesItBack) {
  Case context;
  context.map({{"model.rotary_emb", "cuda:1"}, {"model.layers.0", "cuda:0"}});
  context.module("model.layers.0", "Qwen2DecoderLayer", {weight("cuda:0")}, "cuda:0");
  context.module("model.rotary_emb", "Qwen2RotaryEmbedding", {buffer("cuda:0", "inv_freq", false)}, "cuda:1");
  Event move = move_of_model("autoawq", "cuda:0", lib("autoawq", "awq/quantizer.py", 500, "init_quant"));
  move.subject = "model.rotary_emb";
  context.model().placements = {dispatch(), move};
  context.mixes("aten::bmm", "cuda:0", "cuda:1")
      .frames({lib("transformers", "modeling_qwen2.py", 150, "Qwen2RotaryEmbedding.forward", "", "model.rotary_emb")});
  context.operand("self", "inv_freq_expanded", OperandKind::kLocal, "cuda:0",
                  {computed("cuda:0", "aten::expand", "model.rotary_emb.inv_freq"),
                   moved("cuda:0", {lib("autoawq", "awq/quantizer.py", 500, "init_quant")}, "autoawq")});
  context.operand("mat2", "position_ids_expanded", OperandKind::kLocal, "cuda:1", {hooked("cuda:1")});
  const auto finding = expect_code(context, "DV201");
  expect_evidence(finding, "The hook of model.rotary_emb brings its inputs to cuda:1");
  EXPECT_EQ(finding.confidence, model::Confidence::kCertain);
}

TEST(MovedAfterDispatch, Yi242CudaAfterTheMap) {
  Case context;
  context.map({{"model.embed_tokens", "cuda:0"}, {"model.layers.5", "cuda:1"}});
  context.module("model.embed_tokens", "Embedding", {weight("cuda:0")}, "cuda:0");
  context.module("model.layers.5.mlp", "WQLinear", {buffer("cuda:0", "qweight")}, "cuda:1");
  Event move =
      move_of_model("program", "cuda:0",
                    own("eval.py", 12, "main", "model = AutoModel.from_pretrained(p, device_map=\"auto\").cuda()"));
  context.model().placements = {dispatch(), move};
  context.mixes("aten::index_select", "cuda:0", "cuda:1")
      .frames({lib("torch", "torch/nn/functional.py", 2233, "embedding"), own("eval.py", 20, "main")});
  context.operand("weight", "self.weight", OperandKind::kParameter, "cuda:0").qualified_name =
      "model.embed_tokens.weight";
  context.operand("indices", "input", OperandKind::kInput, "cuda:1", {hooked("cuda:1")});
  const auto finding = expect_code(context, "DV201");
  expect_fix(finding, FixKind::kConfiguration, "eval.py:12");
}

TEST(MovedAfterDispatch, Lightning20276HooksOfRankZero) {
  Case context;
  context.facts.process.world_size = 2;
  context.facts.process.rank = context.facts.process.local_rank = 1;
  context.model().wrappers = {"lightning", "DDP"};
  context.module("model.vision", "Conv2d", {weight("cuda:1")}, "cuda:0");
  context.model().placements = {
      dispatch(), move_of_model("lightning", "cuda:1", own("train.py", 40, "main", "trainer.fit(module)"))};
  context.mixes("aten::convolution", "cuda:1", "cuda:0")
      .frames({lib("accelerate", "accelerate/hooks.py", 170, "new_forward")});
  context.operand("weight", "self.weight", OperandKind::kParameter, "cuda:1").qualified_name = "model.vision.weight";
  context.operand("input", "input", OperandKind::kInput, "cuda:0", {hooked("cuda:0")}).offending = true;
  const auto finding = expect_code(context, "DV201");
  expect_fix(finding, FixKind::kConfiguration, "LOCAL_RANK");
}

TEST(MovedAfterDispatch, NotWhereHooksAndWeightsAgree) {
  Case context;
  context.map({{"a", "cuda:0"}, {"b", "cuda:1"}});
  context.module("a", "Linear", {weight("cuda:0")}, "cuda:0");
  context.module("b", "Linear", {weight("cuda:1")}, "cuda:1");
  context.model().placements = {dispatch()};
  context.mixes("aten::add", "cuda:0", "cuda:1").frames({own("a.py", 5, "f", "x + y")});
  context.operand("self", "x", OperandKind::kLocal, "cuda:0", {mapped("cuda:0", "a")});
  context.operand("other", "y", OperandKind::kLocal, "cuda:1", {mapped("cuda:1", "b")});
  for (const auto& finding : diagnose(context.facts)) {
    EXPECT_NE(finding.code, "DV201") << text_of({finding});
    for (const auto& candidate : finding.candidates) EXPECT_FALSE(candidate == "DV201" && !finding.evidence.empty());
  }
}

TEST(DataParallel, OfAMappedModel) {
  Case context;
  context
      .fails("",
             "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on "
             "device: cuda:1",
             SentenceKind::kModule)
      .frames({lib("torch", "torch/nn/parallel/data_parallel.py", 170, "DataParallel.forward"),
               own("train.py", 9, "main")});
  context.model().wrappers = {"torch.nn.DataParallel"};
  context.map({{"a", "cuda:0"}, {"b", "cuda:1"}});
  EXPECT_EQ(expect_code(context, "DV202").confidence, model::Confidence::kCertain);
}

TEST(DataParallel, Ffb6d4NestedInDdp) {
  Case context;
  context
      .fails("",
             "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on "
             "device: cuda:2",
             SentenceKind::kModule)
      .frames({lib("torch", "torch/nn/parallel/data_parallel.py", 150, "DataParallel.forward"),
               lib("torch", "torch/nn/parallel/distributed.py", 600, "DistributedDataParallel.forward"),
               own("train.py", 9, "main")});
  context.model().wrappers = {"DDP", "torch.nn.DataParallel"};
  expect_fix(expect_code(context, "DV202"), FixKind::kConfiguration, "inner DataParallel");
}

TEST(DataParallel, OfAModuleThatWasNotMoved) {
  Case context;
  context.fails("",
                "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on "
                "device: cpu",
                SentenceKind::kModule);
  expect_fix(expect_code(context, "DV202"), FixKind::kCreationSite, "before it is wrapped");
}

TEST(CurrentDevice, Triton2441) {
  Case context;
  context.facts.process.current_device = "cuda:0";
  context.fails("", "Pointer argument (at 0) cannot be accessed from Triton (cpu tensor?)", SentenceKind::kPointer);
  context.operand("0", "x", OperandKind::kLocal, "cuda:1");
  const auto finding = expect_code(context, "DV115");
  expect_fix(finding, FixKind::kUseSite, "torch.cuda.device(x.device)");
  expect_operand(context, finding, "x");
}

TEST(CurrentDevice, Pick14TooManyRanks) {
  Case context;
  context.facts.process.device_count = 2;
  context.facts.process.world_size = 4;
  context.facts.process.visible_devices = "1,2";
  context.fails("", "CUDA error: invalid device ordinal", SentenceKind::kOrdinal);
  expect_evidence(expect_code(context, "DV115"), "CUDA_VISIBLE_DEVICES=1,2");
}

TEST(CurrentDevice, ARankOfAllMachinesIsNoGpuOfOne) {
  Case context;
  context.facts.process.rank = 3;
  context.facts.process.local_rank = 1;
  context.facts.process.device_count = 2;
  context.facts.process.world_size = 4;
  context.facts.process.environment["LOCAL_RANK"] = "1";
  context.fails("", "CUDA error: invalid device ordinal", SentenceKind::kOrdinal);
  const auto finding = expect_code(context, "DV115");
  ASSERT_EQ(finding.fixes.size(), 2U);
  EXPECT_EQ(finding.fixes[0].kind, FixKind::kUseSite) << "there are as many ranks as GPUs";
  expect_fix(finding, FixKind::kUseSite, "LOCAL_RANK");
}

TEST(CurrentDevice, Semstyle3Checkpoint) {
  Case context;
  context.fails("", "Attempting to deserialize object on CUDA device 2 but torch.cuda.device_count() is 1.",
                SentenceKind::kLoad);
  expect_fix(expect_code(context, "DV115"), FixKind::kUseSite, "map_location");
}

TEST(CurrentDevice, AMapLocationNamesAGpuThatIsNotThere) {
  Case context;
  context.facts.process.device_count = 2;
  context.fails("", "Attempting to deserialize object on CUDA device 2 but torch.cuda.device_count() is 2.",
                SentenceKind::kLoad);
  context.facts.failure.frames = {
      own("load.py", 8, "load", "state = torch.load(os.path.join(folder, name), map_location=device)")};
  const auto finding = expect_code(context, "DV115");
  ASSERT_EQ(finding.fixes.size(), 1U);
  EXPECT_EQ(finding.fixes[0].kind, FixKind::kConfiguration) << "the checkpoint does not say where its tensors go";
}

TEST(CurrentDevice, Verl161DuplicateGpu) {
  Case context;
  context.fails("", "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000", SentenceKind::kGroup);
  expect_code(context, "DV115");
}

TEST(CurrentDevice, NsaTritonPr15BareCudaInARank) {
  Case context;
  context.facts.process.world_size = 4;
  context.facts.process.rank = context.facts.process.local_rank = 2;
  context.mixes("aten::mul", "cuda:2", "cuda:0")
      .frames({own("rope.py", 40, "RoPE.forward", "return x * self.cos", "rope")});
  context.operand("self", "x", OperandKind::kLocal, "cuda:2");
  context.operand("other", "self.cos", OperandKind::kBuffer, "cuda:0",
                  {made("cuda:0", {own("rope.py", 12, "RoPE.__init__", "freqs = torch.arange(n, device=\"cuda\")")})});
  const auto finding = expect_code(context, "DV115");
  expect_fix(finding, FixKind::kConfiguration, "set_device");
}

TEST(CurrentDevice, Pytorch23138LoadedToGpuZero) {
  Case context;
  context.facts.process.world_size = 2;
  context.facts.process.rank = context.facts.process.local_rank = 1;
  context.mixes("aten::add_", "cuda:1", "cuda:0").frames({own("train.py", 30, "resume", "total += state[\"count\"]")});
  context.operand("self", "total", OperandKind::kLocal, "cuda:1");
  context.operand(
      "other", "state[\"count\"]", OperandKind::kLocal, "cuda:0",
      {event(EventKind::kLoaded, "cuda:0", "torch.load", {own("train.py", 20, "main", "state = torch.load(path)")})});
  expect_fix(expect_code(context, "DV115"), FixKind::kUseSite, "map_location");
}

TEST(CurrentDevice, Llava1516OneTowerOnTheDefault) {
  Case context;
  context.module("vision_tower", "CLIPVisionTower", {weight("cuda:0")});
  context.mixes("aten::cudnn_convolution", "cuda:0", "cuda:1")
      .frames({lib("transformers", "modeling_clip.py", 190, "CLIPVisionEmbeddings.forward", "", "vision_tower")});
  context.operand("input", "pixel_values", OperandKind::kInput, "cuda:1",
                  {moved("cuda:1", {own("cli.py", 60, "main", "image = image.to(\"cuda:1\")")})});
  context.operand(
      "weight", "self.weight", OperandKind::kParameter, "cuda:0",
      {moved("cuda:0", {own("builder.py", 30, "load_pretrained_model", "vision_tower.to(device=\"cuda\")")})});
  expect_operand(context, expect_code(context, "DV115"), "self.weight");
}

TEST(Offload, DeepSpeed5538) {
  Case context;
  context.facts.process.versions["deepspeed"] = "0.14.2";
  context.facts.settings = {{"zero_optimization.stage", "3", {}},
                            {"zero_optimization.offload_optimizer.device", "cpu", {}}};
  context.mixes("aten::mul_", "cuda:0", "cpu", Phase::kOptimizer)
      .frames({lib("deepspeed", "deepspeed/runtime/zero/stage3.py", 2117,
                   "DeepSpeedZeroOptimizer_Stage3.unscale_and_clip_grads",
                   "self.fp32_partitioned_groups_flat[sub_group_id].grad.mul_(1. / combined_scale)"),
               own("train.py", 60, "main", "engine.step()")});
  context.operand("self", "grad", OperandKind::kOptimizerState, "cpu");
  context.operand("other", "1. / combined_scale", OperandKind::kTemporary, "cuda:0").shape.emplace();
  auto finding = expect_code(context, "DV114");
  expect_evidence(finding, "0.14.1 and 0.14.2");
  EXPECT_EQ(finding.evidence.front().text().find("DeepSpeed 0.14.2 has this defect"), 0u);
  EXPECT_EQ(finding.title, "DeepSpeed 0.14.2 clips gradients on the CPU by a norm on cuda:0");
  expect_fix(finding, FixKind::kConfiguration, "0.14.3");
  EXPECT_EQ(finding.fixes.size(), 2u);
  EXPECT_EQ(finding.confidence, model::Confidence::kCertain);

  context.facts.process.versions["deepspeed"] = "0.14.4";
  for (const auto& fix : expect_code(context, "DV114").fixes)
    EXPECT_EQ(fix.text.text().find("install deepspeed"), std::string::npos);
}

TEST(Offload, AWeightThatTheSettingKeepsOnTheHost) {
  Case context;
  context.facts.settings = {{"zero_optimization.stage", "3", {}},
                            {"zero_optimization.offload_param.device", "cpu", {}}};
  context.mixes("aten::add_", "cuda:0", "cpu")
      .frames({own("train.py", 29, "main", "average.mul_(0.9).add_(weight.ds_tensor, alpha=0.1)")});
  context.operand("self", "average.mul_(0.9)", OperandKind::kTemporary, "cuda:0");
  Event kept = made("cpu", {lib("deepspeed", "deepspeed/runtime/zero/stage3.py", 907, "_create_param_groups"),
                            own("train.py", 20, "main", "engine = deepspeed.initialize(model=model)")});
  kept.owner = {"deepspeed", "ZeRO-3", "offload_param.device = cpu", {}};
  context.operand("other", "weight.ds_tensor", OperandKind::kLocal, "cpu", {kept});
  const auto finding = expect_code(context, "DV114");
  expect_evidence(finding, "deepspeed keeps");
  expect_evidence(finding, "by offload_param.device = cpu");
}

TEST(Offload, Lightning20258BufferUnderZeroInit) {
  Case context;
  context.facts.settings = {{"zero_optimization.stage", "3", {}}};
  context.module("", "Net", {buffer("cpu", "scale"), weight("cuda:6")});
  context.mixes("aten::mul", "cuda:6", "cpu").frames({own("net.py", 30, "Net.forward", "x = x * self.scale")});
  context.operand("self", "x", OperandKind::kInput, "cuda:6");
  context
      .operand(
          "other", "self.scale", OperandKind::kBuffer, "cpu",
          {made("cpu", {own("net.py", 12, "Net.__init__", "self.register_buffer(\"scale\", tensor([1.0, 2.0]))")})})
      .qualified_name = "net.scale";
  expect_evidence(expect_code(context, "DV114"), "ZeRO stage 3");
}

TEST(Offload, Transformers45859Fsdp2CpuOffload) {
  Case context;
  context.facts.settings = {{"FSDP.CPUOffloadPolicy", "pin_memory=True", {}}};
  context.facts.settings.front().name = "fsdp.cpu_offload";
  context.module("model.rotary_emb", "Qwen3RotaryEmbedding", {buffer("cpu", "inv_freq", false)});
  context.mixes("aten::bmm", "cuda:0", "cpu")
      .frames({lib("transformers", "modeling_qwen3_5.py", 150, "forward", "", "model.rotary_emb")});
  context.operand("self", "self.inv_freq", OperandKind::kBuffer, "cpu").qualified_name = "model.rotary_emb.inv_freq";
  context.operand("mat2", "position_ids", OperandKind::kInput, "cuda:0");
  expect_code(context, "DV114");
}

TEST(Offload, Sdnext2205WeightReadOutsideOfForward) {
  Case context;
  auto& module = context.module("text_encoder", "CLIPTextModel", {}, "cuda:0");
  module.hooks.front().offload = true;
  context.fails("aten::mul", "Tensor on device cuda:0 is not on the expected device meta!")
      .frames({own("emb.py", 20, "mix", "w * scale")});
  context.operand("self", "w", OperandKind::kParameter, "meta").qualified_name = "text_encoder.weight";
  context.operand("other", "scale", OperandKind::kLocal, "cuda:0");
  expect_evidence(expect_code(context, "DV114"), "runs outside of it");
}

TEST(Offload, Accelerate2701DirectParameterOfAHookedModule) {
  Case context;
  auto& module = context.module("transformer", "Transformer2DModel", {weight("cpu", "table")}, "cuda:0");
  module.hooks.front().offload = true;
  context.mixes("aten::add", "cuda:0", "cpu")
      .frames({lib("diffusers", "transformer_2d.py", 300, "Transformer2DModel.forward", "", "transformer")});
  context.operand("self", "x", OperandKind::kLocal, "cuda:0", {hooked("cuda:0")});
  context.operand("other", "self.table", OperandKind::kParameter, "cpu").qualified_name = "transformer.table";
  expect_code(context, "DV114");
}

TEST(Meta, AlpacaLora368) {
  Case context;
  context.fails("", "Cannot copy out of meta tensor; no data!", SentenceKind::kMeta);
  context.map({{"a", "cuda:0"}, {"b", "disk"}});
  expect_evidence(expect_code(context, "DV112"), "to disk");
}

TEST(Meta, LlmCompressor1432) {
  Case context;
  auto& module = context.module("layers.0", "Linear", {}, "cuda:0");
  module.hooks.front().offload = true;
  context.fails("", "Cannot copy out of meta tensor; no data!", SentenceKind::kMeta);
  context.operand("self", "module.weight", OperandKind::kParameter, "meta").qualified_name = "layers.0.weight";
  expect_code(context, "DV112");
}

TEST(Meta, BuffersOfASkeletonThatNoCheckpointHas) {
  Case context;
  context.module("head", "Linear", {weight("cpu")});
  model::ModuleTensor table = weight("meta", "inv_freq");
  table.is_buffer = true;
  table.is_persistent = false;
  context.module("rotary", "Rotary", {table});
  context.fails("", "Cannot copy out of meta tensor; no data!", SentenceKind::kMeta);
  context.operand("self", "", OperandKind::kBuffer, "meta").qualified_name = "rotary.inv_freq";
  expect_evidence(expect_code(context, "DV112"), "not persistent");

  Case unloaded = context;  // a checkpoint would have had the weight
  unloaded.module("lost", "Linear", {weight("meta")});
  for (const model::Message& each : expect_code(unloaded, "DV112").evidence) {
    EXPECT_EQ(each.text().find("not persistent"), std::string::npos) << each.text();
  }
}

TEST(SilentTransfer, Exllama10DamagedLink) {
  Case context;
  context.facts.links = {{"cuda:0", "cuda:1", true, true, true, 4096}, {"cuda:1", "cuda:0", true, false, true, 0}};
  const auto finding = expect_code(context, "DV601");
  expect_evidence(finding, "cuda:0 to cuda:1");
}

TEST(SilentTransfer, BesideAnotherCause) {
  Case context;
  context.facts.links = {{"cuda:0", "cuda:1", true, true, true, 4096}};
  context.fails("", "CUDA error: invalid device ordinal", SentenceKind::kOrdinal);
  const auto findings = diagnose(context.facts);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].code, "DV115");
  EXPECT_EQ(findings[1].code, "DV601");
}

TEST(SilentTransfer, NotWithSoundLinks) {
  Case context;
  context.facts.links = {{"cuda:0", "cuda:1", true, false, true, 4096}, {"cuda:1", "cuda:0", false, false, false, 10}};
  EXPECT_TRUE(diagnose(context.facts).empty());
}

TEST(CurrentDevice, ACheckpointComesBackToAnotherGpuThanTheCurrentOne) {
  Case context;
  context.mixes("aten::lerp", "cuda:0", "cuda:1")
      .frames({own("train.py", 30, "main", "average.lerp_(parameter, 0.1)")});
  context.facts.process.current_device = "cuda:1";
  context.facts.process.set_device_called = true;
  auto loaded = moved("cuda:0", {own("train.py", 20, "main", "checkpoint = torch.load(file)")}, "torch.load");
  loaded.kind = EventKind::kLoaded;
  context.operand("self", "average", OperandKind::kLocal, "cuda:0", {loaded});
  context.operand("end", "parameter", OperandKind::kLocal, "cuda:1",
                  {moved("cuda:1", {own("train.py", 15, "main", "model = model.cuda(local_rank)")})});
  expect_operand(context, expect_code(context, "DV115"), "average");
}

TEST(MovedAfterDispatch, TheProvenanceOfTheWeightShowsBothOwners) {
  Case context;
  context.mixes("aten::addmm", "cuda:0", "cuda:1")
      .frames({own("net.py", 30, "Net.forward", "return self.text(x)", "")});
  const auto apply = lib("torch", "torch/nn/modules/module.py", 900, "Module._apply");
  context.operand("mat2", "self.text.weight", OperandKind::kParameter, "cuda:0",
                  {moved("cuda:0", {apply, own("train.py", 9, "<module>", "trainer.fit(model)")}, "lightning"),
                   mapped("cuda:1", "text")});
  context.operand("mat1", "x", OperandKind::kTemporary, "cuda:1", {hooked("cuda:1")});
  context.module("", "Net");
  context.module("text", "Linear", {weight("cpu")});  // by now: a teardown has moved it again
  expect_operand(context, expect_code(context, "DV201"), "self.text.weight");
}

TEST(MovedAfterDispatch, NotTheMoveOfAnotherModel) {
  Case context;
  context.mixes("aten::sub", "cuda:1", "cuda:0").frames({own("ppo.py", 30, "step", "ratio = logprobs - reference")});
  context.operand("self", "logprobs", OperandKind::kLocal, "cuda:1", {mapped("cuda:1", "model.v_head")});
  context.operand("other", "reference", OperandKind::kLocal, "cuda:0",
                  {moved("cuda:0", {own("ppo.py", 3, "main", "reference = Policy().to(\"cuda:0\")")})});
  context.module("", "Trainer");
  context.module("model", "Policy", {weight("cuda:1")}, "cuda:1");
  context.module("ref_model", "Policy", {weight("cuda:0")});
  auto dispatch = mapped("cuda:1", "model.v_head");
  dispatch.subject = "model";
  auto move = moved("cuda:0", {own("ppo.py", 3, "main", "reference = Policy().to(\"cuda:0\")")});
  move.subject = "ref_model";
  context.model().placements = {dispatch, move};
  for (const auto& finding : diagnose(context.facts)) EXPECT_NE(finding.code, "DV201");
}

TEST(OffloadEngine, TakenToTheHostByTheProgramsOwnOffload) {
  Case context;
  context.mixes("aten::mul", "cuda:0", "cpu").frames({own("zero.py", 40, "Optimizer.step", "grad.mul_(1.0 / scale)")});
  context.operand("self", "grad", OperandKind::kLocal, "cpu",
                  {moved("cpu", {own("zero.py", 30, "Optimizer.step", "p.grad.to(self.offload_device)")})});
  context.operand("other", "scale", OperandKind::kLocal, "cuda:0").shape = std::vector<std::int64_t>{};
  const auto finding = expect_code(context, "DV114");
  expect_operand(context, finding, "grad");
  expect_evidence(finding, "0-dim");
}

}  // namespace devsan::diagnose::test
