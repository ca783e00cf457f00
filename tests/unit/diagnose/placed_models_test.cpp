// Models that a map spreads over GPUs: cases of the corpus, by their id.

#include "diagnose/case.h"

namespace devsan::diagnose::test {

using model::RepairKind;

namespace {

/// A Llama of four layers over two GPUs, loaded with device_map="auto".
void llama(Case& scene, Device embedding = "cuda:0", Device head = "cuda:1") {
  scene.model().expression = "model";
  scene.model().type = "LlamaForCausalLM";
  scene.model().device_map_text = "device_map=\"auto\"";
  scene.map({{"model.embed_tokens", embedding},
             {"model.layers.0", "cuda:0"},
             {"model.layers.1", "cuda:0"},
             {"model.layers.2", "cuda:1"},
             {"model.layers.3", "cuda:1"},
             {"model.norm", head},
             {"lm_head", head}});
  scene.module("", "LlamaForCausalLM", {}, embedding);
  scene.module("model", "LlamaModel");
  scene.module("model.embed_tokens", "Embedding", {weight(embedding)}, embedding);
  scene.module("model.layers", "ModuleList");
  for (const int layer : {0, 1, 2, 3}) {
    const std::string path = "model.layers." + std::to_string(layer);
    const Device device = layer < 2 ? "cuda:0" : "cuda:1";
    scene.module(path, "LlamaDecoderLayer", {}, device);
    scene.module(path + ".mlp", "LlamaMLP");
    scene.module(path + ".mlp.down_proj", "Linear", {weight(device)});
  }
  scene.module("model.norm", "LlamaRMSNorm", {weight(head)}, head);
  scene.module("lm_head", "Linear", {weight(head)}, head);
}

const std::vector<Frame> kComputeZ = {
    own("compute_z.py", 118, "compute_z.<locals>.edit_output_fn", "cur_out[i, idx, :] += delta"),
    call_impl(),
    lib("transformers", "modeling_llama.py", 400, "LlamaModel.forward", "", "model"),
    call_impl(),
    own("compute_z.py", 133, "compute_z", "logits = model(**input_tok).logits"),
    own("memit_main.py", 150, "execute_memit", "cur_z = compute_z(")};

Case easyedit(const std::string& statement) {
  Case scene;
  scene.mixes("aten::add_", "cuda:1", "cuda:0").frames(kComputeZ);
  llama(scene);
  scene.operand(
      "self", "cur_out[i, idx, :]", OperandKind::kTemporary, "cuda:1",
      {computed("cuda:1", "aten::mm", "model.layers.2.mlp.down_proj.weight"), mapped("cuda:1", "model.layers.2")});
  scene
      .operand("other", "delta", OperandKind::kLocal, "cuda:0",
               {made("cuda:0", {own("compute_z.py", 77, "compute_z", statement),
                                own("memit_main.py", 150, "execute_memit", "cur_z = compute_z(")})})
      .odd = true;
  return scene;
}

}  // namespace

TEST(SingleDevice, EasyEdit419) {
  const Case scene = easyedit("delta = torch.zeros((4096,), requires_grad=True, device=f\"cuda:{hparams.device}\")");
  const auto finding = expect_code(scene, "DV101");
  expect_operand(scene, finding, "delta");
  expect_evidence(finding, "f\"cuda:{hparams.device}\"");
  expect_evidence(finding, "device_map[\"model.layers.2\"] = 1");
  expect_repair(finding, RepairKind::kCreationSite, "compute_z.py:77");
  EXPECT_EQ(finding.confidence, model::Confidence::kCertain);
}

TEST(SingleDevice, EasyEdit419WithALiteral) {
  expect_operand(easyedit("delta = torch.zeros((4096,), requires_grad=True, device=\"cuda:0\")"),
                 expect_code(easyedit("delta = torch.zeros((4096,), device=\"cuda:0\")"), "DV101"), "delta");
  expect_code(easyedit("delta = torch.zeros((4096,), requires_grad=True, device=\"cuda\")"), "DV101");
}

TEST(SingleDevice, EasyEdit103AllSitesAreOneFinding) {
  const Case first = easyedit("delta = torch.zeros((4096,), device=f\"cuda:{hparams.device}\")");
  Case second = first;
  second.facts.failure.op = "aten::div";
  second.facts.failure.frames.front() =
      own("compute_z.py", 170, "compute_z", "weight_decay = torch.norm(delta) / norm");
  auto all = diagnose(first.facts);
  for (auto& finding : diagnose(second.facts)) all.push_back(finding);
  const auto merged = merge(std::move(all));
  ASSERT_EQ(merged.size(), 1u) << text_of(merged);
  ASSERT_EQ(merged.front().sites.size(), 2u);
  EXPECT_EQ(merged.front().sites[1].op, "aten::div");
  EXPECT_NE(diagnose(first.facts).front().id, diagnose(second.facts).front().id);
}

TEST(SingleDevice, UnslothPr9995TrainerSendsBatchesToItsOwnDevice) {
  Case scene;
  llama(scene, "cuda:1", "cuda:0");
  for (auto& module : scene.model().modules) module.hooks.clear();
  scene
      .fails("aten::index_select",
             "Expected all tensors to be on the same device, but got index is on cuda:0, different from other tensors "
             "on cuda:1 (when checking argument in method wrapper_CUDA_index_select)")
      .frames({lib("torch", "torch/nn/functional.py", 2500, "embedding"),
               lib("transformers", "modeling_llama.py", 390, "LlamaModel.forward", "", "model")});
  Event sent = moved("cuda:0",
                     {lib("transformers", "trainer.py", 3700, "Trainer._prepare_input",
                          "return data.to(**{\"device\": self.args.device})")},
                     "transformers");
  sent.device_text = "self.args.device";
  scene.operand("weight", "self.weight", OperandKind::kParameter, "cuda:1", {mapped("cuda:1", "model.embed_tokens")})
      .known_as = "model.embed_tokens.weight";
  scene.operand("indices", "input", OperandKind::kInput, "cuda:0", {sent}).odd = true;
  const auto finding = expect_code(scene, "DV101");
  expect_operand(scene, finding, "input");
  expect_repair(finding, RepairKind::kConfiguration, "send inputs to the device");
}

TEST(SingleDevice, Qwen3Vl234MaskFollowsTheInputs) {
  Case scene;
  llama(scene, "cuda:3", "cuda:0");
  scene.mixes("aten::masked_scatter_", "cuda:3", "cuda:0")
      .frames(
          {lib("transformers", "modeling_qwen2_vl.py", 1100, "Qwen2VL.forward", "", ""), own("infer.py", 30, "main")});
  scene.operand(
      "self", "inputs_embeds", OperandKind::kLocal, "cuda:3",
      {computed("cuda:3", "aten::embedding", "model.embed_tokens.weight"), mapped("cuda:3", "model.embed_tokens")});
  Event to = moved("cuda:0", {own("infer.py", 25, "main", "inputs = inputs.to(model.device)")});
  scene.operand("mask", "image_mask", OperandKind::kLocal, "cuda:0", {computed("cuda:0", "aten::eq", "input_ids"), to})
      .odd = true;
  expect_operand(scene, expect_code(scene, "DV101"), "image_mask");
}

TEST(SingleDevice, InternVlPr132) {
  Case scene;
  llama(scene);
  scene
      .fails("aten::index", "indices should be either on cpu or on the same device as the indexed tensor (cuda:1)",
             SentenceKind::kIndex)
      .frames({lib("transformers_modules", "modeling_internvl_chat.py", 120, "InternVLChatModel.forward"),
               own("demo.py", 40, "main")});
  scene.operand("self", "vit_embeds", OperandKind::kLocal, "cuda:1",
                {computed("cuda:1", "aten::mm", "vision_model.encoder.weight"), mapped("cuda:1", "vision_model")});
  scene
      .operand("indices[0]", "image_flags == 1", OperandKind::kTemporary, "cuda:0",
               {computed("cuda:0", "aten::eq", "image_flags"),
                moved("cuda:0", {own("demo.py", 33, "main", "pixel_values = pixel_values.to(args.device)")})})
      .odd = true;
  expect_code(scene, "DV101");
}

TEST(SingleDevice, TextGen203StoppingCriteria) {
  Case scene;
  llama(scene);
  scene.mixes("aten::eq", "cuda:0", "cuda:1", Phase::kGenerate)
      .frames(
          {own("callbacks.py", 20, "_SentinelTokenStoppingCriteria.__call__", "if torch.all(tail == self.sentinel):")});
  scene.operand("other", "self.sentinel", OperandKind::kUnknown, "cuda:0",
                {moved("cuda:0", {own("text.py", 60, "generate_reply", "ids = encode(stop).to(shared.args.device)")})});
  scene.operand("self", "tail", OperandKind::kLocal, "cuda:1",
                {computed("cuda:1", "aten::argmax", "lm_head.weight"), mapped("cuda:1", "lm_head")});
  expect_operand(scene, expect_code(scene, "DV101"), "self.sentinel");
}

TEST(SingleDevice, NotWithoutAModelOverSeveralGpus) {
  Case scene;
  scene.mixes("aten::add", "cuda:1", "cuda:0").frames({own("a.py", 3, "<module>", "y = x + bias")});
  scene.operand("self", "x", OperandKind::kLocal, "cuda:1",
                {made("cuda:1", {own("a.py", 1, "<module>", "x = torch.ones(3, device=\"cuda:1\")")})});
  scene.operand("other", "bias", OperandKind::kLocal, "cuda:0",
                {made("cuda:0", {own("a.py", 2, "<module>", "bias = torch.zeros(3, device=\"cuda:0\")")})});
  expect_code(scene, "DV102");
}

TEST(ReductionBoundary, SelfLlm217) {
  Case scene;
  llama(scene, "cuda:1", "cuda:3");
  scene
      .fails("aten::nll_loss_forward",
             "Expected all tensors to be on the same device, but got target is on cuda:1, different from other tensors "
             "on cuda:3 (when checking argument in method wrapper_CUDA_nll_loss_forward)",
             SentenceKind::kMixed, Phase::kLoss)
      .frames({lib("torch", "torch/nn/functional.py", 3400, "cross_entropy"),
               lib("transformers_modules", "modeling_chatglm.py", 957, "ChatGLM.forward",
                   "loss = loss_fct(shift_logits.view(-1, shift_logits.size(-1)), shift_labels.view(-1))", ""),
               lib("transformers", "trainer.py", 3600, "Trainer.compute_loss")});
  scene
      .operand("self", "shift_logits", OperandKind::kLocal, "cuda:3",
               {computed("cuda:3", "aten::mm", "lm_head.weight"), mapped("cuda:3", "lm_head")})
      .bytes = 1 << 30;
  Event sent = moved("cuda:1", {lib("transformers", "trainer.py", 3700, "Trainer._prepare_input")}, "transformers");
  sent.device_text = "self.args.device";
  scene.operand("target", "shift_labels", OperandKind::kInput, "cuda:1", {sent}).odd = true;
  const auto finding = expect_code(scene, "DV104");
  expect_operand(scene, finding, "shift_labels");
  expect_repair(finding, RepairKind::kUseSite, "move `shift_labels` to the device of `shift_logits`");
  EXPECT_EQ(finding.confidence, model::Confidence::kCertain);
}

TEST(ReductionBoundary, Transformers37886CountOfItems) {
  Case scene;
  llama(scene);
  scene.mixes("aten::div", "cuda:1", "cuda:0", Phase::kLoss)
      .frames(
          {lib("transformers", "loss/loss_utils.py", 40, "fixed_cross_entropy", "loss = loss / num_items_in_batch")});
  scene
      .operand("self", "loss", OperandKind::kLocal, "cuda:1",
               {computed("cuda:1", "aten::nll_loss_forward", "lm_head.weight"), mapped("cuda:1", "lm_head")})
      .shape.emplace();
  Event sent = moved("cuda:0", {lib("transformers", "trainer.py", 5500, "Trainer.get_batch_samples")}, "transformers");
  sent.device_text = "device";
  scene.operand("other", "num_items_in_batch", OperandKind::kInput, "cuda:0", {sent}).shape.emplace();
  const auto finding = expect_code(scene, "DV104");
  expect_operand(scene, finding, "num_items_in_batch");
  ASSERT_TRUE(finding.repairs.front().edit);
  EXPECT_EQ(finding.repairs.front().edit->after, "loss = loss / num_items_in_batch.to(loss.device)");
}

TEST(ReductionBoundary, Pytorch38605ClipGradNorm) {
  Case scene;
  scene
      .fails("aten::stack", "All input tensors must be on the same device. Received cuda:0 and cuda:1",
             SentenceKind::kMixed, Phase::kOptimizer)
      .frames({lib("torch", "torch/nn/utils/clip_grad.py", 40, "clip_grad_norm_"), own("train.py", 50, "train")});
  for (const char* device : {"cuda:0", "cuda:1"}) {
    scene.operand("tensors[0]", "", OperandKind::kTemporary, device, {computed(device, "aten::norm", "p.grad")})
        .shape.emplace();
  }
  expect_repair(expect_code(scene, "DV104"), RepairKind::kUseSite, "one device first");
}

TEST(ReductionBoundary, Lightning4877EpochEnd) {
  Case scene;
  scene.model().wrappers = {"torch.nn.DataParallel"};
  scene.mixes("aten::stack", "cuda:2", "cuda:0", Phase::kNone)
      .frames(
          {own("model.py", 80, "Net.training_epoch_end", "loss = torch.stack([o[\"loss\"] for o in outputs]).mean()")});
  scene.operand("tensors[0]", "", OperandKind::kTemporary, "cuda:0").shape.emplace();
  scene.operand("tensors[1]", "", OperandKind::kTemporary, "cuda:2").shape.emplace();
  expect_code(scene, "DV104");
}

TEST(ReductionBoundary, Orpo18TrainerRefusesTheLoss) {
  Case scene;
  scene.fails("", "Calculated loss must be on the original device: cuda:0 but device in use is cuda:3",
              SentenceKind::kMixed, Phase::kLoss);
  expect_code(scene, "DV104");
}

TEST(ReductionBoundary, Unsloth4041MaskedFillOfTheLoss) {
  Case scene;
  llama(scene, "cuda:0", "cuda:1");
  scene
      .fails("aten::masked_fill_",
             "expected self and mask to be on the same device, but got mask on cuda:0 and self on cuda:1",
             SentenceKind::kMixed, Phase::kLoss)
      .frames({lib("unsloth", "cross_entropy_loss.py", 300, "Fast_CrossEntropyLoss.forward",
                   "losses.masked_fill_(labels == -100, 0)")});
  scene.operand("self", "losses", OperandKind::kLocal, "cuda:1",
                {computed("cuda:1", "aten::empty_like", "lm_head.weight"), mapped("cuda:1", "lm_head")});
  Event sent = moved("cuda:0", {lib("transformers", "trainer.py", 3700, "Trainer._prepare_input")}, "transformers");
  sent.device_text = "self.args.device";
  scene
      .operand("mask", "labels == -100", OperandKind::kTemporary, "cuda:0",
               {computed("cuda:0", "aten::eq", "labels"), sent})
      .odd = true;
  expect_operand(scene, expect_code(scene, "DV104"), "labels == -100");
}

TEST(MapGap, Transformers34456MapListsParameters) {
  Case scene;
  llama(scene);
  scene.map({{"model.embed_tokens", "cuda:0"},
             {"model.layers", "cuda:0"},
             {"model.norm.weight", "cuda:1"},
             {"lm_head.weight", "cuda:1"}});
  scene.module("model.rotary_emb", "LlamaRotaryEmbedding", {buffer("cpu", "inv_freq", false)});
  scene.mixes("aten::bmm", "cpu", "cuda:0")
      .frames({lib("transformers", "modeling_llama.py", 150, "LlamaRotaryEmbedding.forward", "", "model.rotary_emb")});
  scene.operand(
      "self", "inv_freq_expanded", OperandKind::kLocal, "cpu",
      {computed("cpu", "aten::expand", "model.rotary_emb.inv_freq"),
       made("cpu", {lib("transformers", "modeling_llama.py", 90, "LlamaRotaryEmbedding.__init__")}, "transformers")});
  scene.operand("mat2", "position_ids_expanded", OperandKind::kLocal, "cuda:0", {hooked("cuda:0")});
  const auto finding = expect_code(scene, "DV105");
  expect_operand(scene, finding, "inv_freq_expanded");
  expect_evidence(finding, "No entry of the device map covers model.rotary_emb");
  expect_evidence(finding, "non-persistent");
  expect_repair(finding, RepairKind::kMap, "\"model.rotary_emb\": \"cuda:0\"");
}

TEST(MapGap, Transformers35505BufferItself) {
  Case scene;
  llama(scene);
  scene.module("model.rotary_emb", "Qwen2RotaryEmbedding", {buffer("cpu", "inv_freq", false)});
  scene.mixes("aten::bmm", "cpu", "cuda:0")
      .frames({lib("transformers", "modeling_qwen2.py", 150, "Qwen2RotaryEmbedding.forward")});
  scene.operand("self", "inv_freq_expanded", OperandKind::kBuffer, "cpu").known_as = "model.rotary_emb.inv_freq";
  scene.operand("mat2", "position_ids_expanded", OperandKind::kLocal, "cuda:0", {hooked("cuda:0")});
  expect_code(scene, "DV105");
}

TEST(MapGap, Accelerate362MapOfAnotherClass) {
  Case scene;
  llama(scene);
  scene.map({{"decoder.embed_tokens", "cuda:0"}, {"decoder.layers.0", "cuda:0"}, {"decoder.layers.1", "cuda:1"}});
  scene.mixes("aten::addmm", "cuda:0", "cuda:1")
      .frames({lib("torch", "torch/nn/modules/linear.py", 125, "Linear.forward")});
  scene.operand("mat2", "self.weight", OperandKind::kParameter, "cuda:1").known_as =
      "model.layers.2.mlp.down_proj.weight";
  scene.operand("mat1", "input", OperandKind::kTemporary, "cuda:0", {hooked("cuda:0")});
  expect_evidence(expect_code(scene, "DV105"), "No entry of the device map covers");
}

TEST(MapGap, AutoRound1308ModuleReplacedAfterDispatch) {
  Case scene;
  llama(scene);
  scene.map({{"model.embed_tokens", "cuda:0"}, {"model.layers.2", "cuda:1"}});
  for (auto& module : scene.model().modules) {
    if (module.path.empty() || module.path.starts_with("model.layers.2")) module.hooks.clear();
  }
  scene.mixes("aten::addmm", "cuda:0", "cuda:1")
      .frames({lib("torch", "torch/nn/modules/linear.py", 125, "Linear.forward")});
  scene.operand("mat2", "self.weight", OperandKind::kParameter, "cuda:1").known_as =
      "model.layers.2.mlp.down_proj.weight";
  scene.operand("mat1", "input", OperandKind::kTemporary, "cuda:0", {hooked("cuda:0")});
  expect_evidence(expect_code(scene, "DV105"), "put in after dispatch");
}

TEST(MapGap, AutoAwq558MoversListIsOlderThanTheModel) {
  Case scene;
  scene.model().expression = "self.model";
  scene.module("", "LlamaForCausalLM");
  scene.module("model.embed_tokens", "Embedding", {weight("cuda:0")});
  scene.module("model.layers.0", "LlamaDecoderLayer", {weight("cuda:0")});
  scene.module("model.rotary_emb", "LlamaRotaryEmbedding", {buffer("cpu", "inv_freq", false)});
  for (const char* part : {"model.layers.0", "model.embed_tokens"}) {
    Event move =
        moved("cuda:0", {lib("autoawq", "awq/quantize/quantizer.py", 500, "AwqQuantizer.init_quant")}, "autoawq");
    move.subject = part;
    move.owner.mechanism = "Module.to";
    scene.model().placements.push_back(move);
  }
  scene.mixes("aten::bmm", "cpu", "cuda:0")
      .frames({lib("transformers", "modeling_llama.py", 150, "LlamaRotaryEmbedding.forward")});
  scene.operand("self", "inv_freq_expanded", OperandKind::kBuffer, "cpu").known_as = "model.rotary_emb.inv_freq";
  scene.operand("mat2", "position_ids_expanded", OperandKind::kLocal, "cuda:0");
  const auto finding = expect_code(scene, "DV105");
  expect_evidence(finding, "autoawq");
  expect_operand(scene, finding, "inv_freq_expanded");
}

TEST(MapGap, Compel121CallPastTheHook) {
  Case scene;
  auto& encoder = scene.module("", "CLIPTextModel", {}, "cuda:0");
  encoder.hooks.front().type = "CpuOffload";
  scene.module("text_model.embeddings", "CLIPTextEmbeddings", {weight("cpu")});
  scene.mixes("aten::index_select", "cuda:0", "cpu")
      .frames({lib("transformers", "modeling_clip.py", 200, "CLIPTextEmbeddings.forward", "", "text_model.embeddings"),
               lib("compel", "embeddings_provider.py", 300, "EmbeddingsProvider.build")});
  // The root's forward was not called: no frame of the text encoder itself.
  scene.facts.failure.frames.front().module = "text_model.embeddings";
  scene.model().modules.front().path = "text_model";
  scene.operand("weight", "self.weight", OperandKind::kParameter, "cpu").known_as = "text_model.embeddings.weight";
  scene.operand("indices", "input_ids", OperandKind::kInput, "cuda:0");
  expect_evidence(expect_code(scene, "DV105"), "by another way");
}

TEST(MapGap, RefusedMap) {
  Case scene;
  scene.fails("", "The device_map provided does not give any device for the following parameters: lm_head.weight",
              SentenceKind::kPlacement);
  expect_code(scene, "DV105");
}

TEST(MapGap, NotWhereTheMapAndTheHooksReach) {
  Case scene;
  llama(scene);
  scene.mixes("aten::addmm", "cuda:0", "cuda:1")
      .frames({lib("torch", "torch/nn/modules/linear.py", 125, "Linear.forward")});
  scene.operand("mat2", "self.weight", OperandKind::kParameter, "cuda:1").known_as =
      "model.layers.2.mlp.down_proj.weight";
  scene.operand("mat1", "input", OperandKind::kTemporary, "cuda:0");
  for (const auto& finding : diagnose(scene.facts)) EXPECT_NE(finding.code, "DV105") << text_of({finding});
}

TEST(KvCache, Accelerate2548HookMovesTheCache) {
  Case scene;
  llama(scene);
  scene.mixes("aten::cat", "cuda:0", "cuda:1", Phase::kGenerate)
      .frames({lib("transformers", "cache_utils.py", 120, "DynamicLayer.update",
                   "self.keys = torch.cat([self.keys, key_states], dim=-2)"),
               lib("transformers", "modeling_llama.py", 250, "LlamaAttention.forward", "", "model.layers.2")});
  scene.operand("tensors[0]", "self.keys", OperandKind::kCache, "cuda:0", {hooked("cuda:0")});
  scene.operand(
      "tensors[1]", "key_states", OperandKind::kLocal, "cuda:1",
      {computed("cuda:1", "aten::mm", "model.layers.2.mlp.down_proj.weight"), mapped("cuda:1", "model.layers.2")});
  const auto finding = expect_code(scene, "DV106");
  expect_repair(finding, RepairKind::kConfiguration, "skip_keys");
  expect_operand(scene, finding, "self.keys");
}

TEST(KvCache, Transformers32624StaticCache) {
  Case scene;
  llama(scene);
  scene.mixes("aten::index_copy_", "cuda:0", "cuda:1", Phase::kGenerate)
      .frames({lib("transformers", "cache_utils.py", 900, "StaticCache.update",
                   "k_out.index_copy_(2, cache_position, key_states)")});
  scene.operand("self", "k_out", OperandKind::kCache, "cuda:0",
                {made("cuda:0", {lib("transformers", "cache_utils.py", 850, "StaticCache.__init__")}, "transformers")});
  scene.operand("source", "key_states", OperandKind::kLocal, "cuda:1");
  expect_repair(expect_code(scene, "DV106"), RepairKind::kCreationSite, "for each layer");
}

TEST(KvCache, Transformers33147CachePosition) {
  Case scene;
  llama(scene);
  scene
      .fails("aten::index_put_", "indices should be either on cpu or on the same device as the indexed tensor (cuda:1)",
             SentenceKind::kIndex, Phase::kGenerate)
      .frames({lib("transformers", "cache_utils.py", 1100, "HybridCache.update",
                   "k_out[:, :, cache_position] = key_states")});
  scene.operand("self", "k_out", OperandKind::kCache, "cuda:1");
  scene.operand("indices[2]", "cache_position", OperandKind::kLocal, "cuda:0", {hooked("cuda:0")}).odd = true;
  expect_code(scene, "DV106");
}

TEST(KvCache, Transformers9200BeamIndices) {
  Case scene;
  llama(scene);
  scene.mixes("aten::index_select", "cuda:0", "cuda:1", Phase::kGenerate)
      .frames({lib("transformers", "modeling_gpt2.py", 1000, "GPT2LMHeadModel._reorder_cache",
                   "past_state.index_select(0, beam_idx)")});
  scene.operand("self", "past_state", OperandKind::kLocal, "cuda:1",
                {computed("cuda:1", "aten::mm", "lm_head.weight"), mapped("cuda:1", "lm_head")});
  scene.operand("index", "beam_idx", OperandKind::kLocal, "cuda:0",
                {made("cuda:0", {lib("transformers", "generation/beam_search.py", 200, "process")}, "transformers")});
  expect_repair(expect_code(scene, "DV106"), RepairKind::kUseSite, "index");
}

TEST(SplitBlock, Accelerate1851ResidualOfALayer) {
  Case scene;
  llama(scene);
  scene.map({{"model.layers.2.self_attn", "cuda:0"}, {"model.layers.2.mlp", "cuda:1"}});
  for (auto& module : scene.model().modules) {
    if (module.path == "model.layers.2.mlp") module.hooks = scene.model().find("model.layers.2")->hooks;
  }
  for (auto& module : scene.model().modules) {
    if (module.path == "model.layers.2") module.hooks.clear();
  }
  scene.module("model.layers.2.self_attn", "LlamaAttention", {weight("cuda:0")}, "cuda:0");
  scene.mixes("aten::add", "cuda:0", "cuda:1")
      .frames({lib("transformers", "modeling_llama.py", 320, "LlamaDecoderLayer.forward",
                   "hidden_states = residual + hidden_states", "model.layers.2")});
  scene.operand("self", "residual", OperandKind::kLocal, "cuda:0",
                {computed("cuda:0", "aten::mm", "model.layers.2.self_attn.weight"),
                 mapped("cuda:0", "model.layers.2.self_attn")});
  scene.operand(
      "other", "hidden_states", OperandKind::kLocal, "cuda:1",
      {computed("cuda:1", "aten::mm", "model.layers.2.mlp.down_proj.weight"), mapped("cuda:1", "model.layers.2.mlp")});
  const auto finding = expect_code(scene, "DV107");
  expect_repair(finding, RepairKind::kConfiguration, "no_split_module_classes=[\"LlamaDecoderLayer\"]");
}

TEST(SplitBlock, Diffusers10308ParameterOfTheBlock) {
  Case scene;
  scene.map({{"blocks.0.ff", "cuda:1"}, {"blocks.0.scale_shift_table", "cuda:0"}});
  scene.module("", "SanaTransformer");
  scene.module("blocks.0", "SanaBlock", {weight("cuda:0", "scale_shift_table")});
  scene.module("blocks.0.ff", "FeedForward", {weight("cuda:1")}, "cuda:1");
  scene.mixes("aten::add", "cuda:0", "cuda:1")
      .frames({lib("diffusers", "sana_transformer.py", 150, "SanaBlock.forward", "", "blocks.0")});
  scene
      .operand("self", "self.scale_shift_table", OperandKind::kParameter, "cuda:0",
               {mapped("cuda:0", "blocks.0.scale_shift_table")})
      .known_as = "blocks.0.scale_shift_table";
  scene.operand("other", "hidden_states", OperandKind::kLocal, "cuda:1",
                {computed("cuda:1", "aten::mm", "blocks.0.ff.weight"), mapped("cuda:1", "blocks.0.ff")});
  expect_code(scene, "DV107");
}

TEST(SplitBlock, Diffusers11690SkipConnection) {
  Case scene;
  scene.map({{"down_blocks", "cuda:0"}, {"up_blocks", "cuda:1"}});
  scene.module("up_blocks.0", "UpBlock2D", {weight("cuda:1")}, "cuda:1");
  scene.mixes("aten::cat", "cuda:0", "cuda:1")
      .frames({lib("diffusers", "unet_2d_blocks.py", 2400, "UpBlock2D.forward", "", "up_blocks.0")});
  scene
      .operand("tensors[0]", "hidden_states", OperandKind::kLocal, "cuda:1",
               {computed("cuda:1", "aten::conv2d", "up_blocks.0.weight"), mapped("cuda:1", "up_blocks")})
      .shape = std::vector<std::int64_t>{1, 4, 8, 8};
  scene
      .operand("tensors[1]", "res_hidden_states", OperandKind::kLocal, "cuda:0",
               {computed("cuda:0", "aten::conv2d", "down_blocks.0.weight"), mapped("cuda:0", "down_blocks")})
      .shape = std::vector<std::int64_t>{1, 4, 8, 8};
  expect_code(scene, "DV107");
}

TEST(SplitBlock, StarCoder29AMapThatCutsABlock) {
  Case scene;
  scene.map({{"transformer.h.26.ln_1", "cuda:0"},
             {"transformer.h.26.attn", "cuda:0"},
             {"transformer.h.26.mlp.c_proj", "cuda:1"}});
  scene.module("transformer.h.26", "GPTBigCodeBlock");
  scene.module("transformer.h.26.ln_1", "LayerNorm", {weight("cuda:0")}, "cuda:0");
  scene.module("transformer.h.26.mlp.c_proj", "Linear", {weight("cuda:1")}, "cuda:1");
  scene.mixes("aten::add", "cuda:0", "cuda:1")
      .frames({lib("transformers", "modeling_gpt_bigcode.py", 500, "GPTBigCodeBlock.forward", "", "transformer.h.26")});
  scene.operand("self", "residual", OperandKind::kLocal, "cuda:0");
  scene.operand("other", "feed_forward_hidden_states", OperandKind::kLocal, "cuda:1");
  expect_code(scene, "DV107");
}

}  // namespace devsan::diagnose::test
