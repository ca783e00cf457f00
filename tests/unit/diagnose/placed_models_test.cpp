// Models that a map spreads over GPUs: cases of the corpus, by their id.

#include <algorithm>

#include "diagnose/programs.h"

namespace devsan::diagnose::test {

using model::FixKind;

namespace {

const std::vector<Frame> kComputeZ = {
    own("compute_z.py", 118, "compute_z.<locals>.edit_output_fn", "cur_out[i, idx, :] += delta"),
    call_impl(),
    lib("transformers", "modeling_llama.py", 400, "LlamaModel.forward", "", "model"),
    call_impl(),
    own("compute_z.py", 133, "compute_z", "logits = model(**input_tok).logits"),
    own("memit_main.py", 150, "execute_memit", "cur_z = compute_z(")};

Case easyedit(const std::string& statement) {
  Case context;
  context.mixes("aten::add_", "cuda:1", "cuda:0").frames(kComputeZ);
  llama(context);
  context.operand(
      "self", "cur_out[i, idx, :]", OperandKind::kTemporary, "cuda:1",
      {computed("cuda:1", "aten::mm", "model.layers.2.mlp.down_proj.weight"), mapped("cuda:1", "model.layers.2")});
  context
      .operand("other", "delta", OperandKind::kLocal, "cuda:0",
               {made("cuda:0", {own("compute_z.py", 77, "compute_z", statement),
                                own("memit_main.py", 150, "execute_memit", "cur_z = compute_z(")})})
      .offending = true;
  return context;
}

}  // namespace

TEST(SingleDevice, EasyEdit419) {
  const Case context = easyedit("delta = torch.zeros((4096,), requires_grad=True, device=f\"cuda:{hparams.device}\")");
  const auto finding = expect_code(context, "DV101");
  expect_operand(context, finding, "delta");
  expect_evidence(finding, "f\"cuda:{hparams.device}\"");
  expect_evidence(finding, "device_map[\"model.layers.2\"] = 1");
  expect_fix(finding, FixKind::kCreationSite, "compute_z.py:77");
  EXPECT_NE(finding.naive_fix, "");
  EXPECT_EQ(finding.confidence, model::Confidence::kCertain);
}

TEST(SingleDevice, EasyEdit419WithALiteral) {
  expect_operand(easyedit("delta = torch.zeros((4096,), requires_grad=True, device=\"cuda:0\")"),
                 expect_code(easyedit("delta = torch.zeros((4096,), device=\"cuda:0\")"), "DV101"), "delta");
  expect_code(easyedit("delta = torch.zeros((4096,), requires_grad=True, device=\"cuda\")"), "DV101");
}

TEST(SingleDevice, AMoveAtTheFailingLineSaysTheOthersDevice) {
  Case context;
  const Frame line = own("net.py", 12, "Net.forward", "return h * self.scale.to(\"cuda:0\")");
  context.mixes("aten::mul", "cuda:1", "cuda:0").frames({line, call_impl(), own("net.py", 16, "<module>", "net(x)")});
  context.model().expression = "net";
  context.module("a", "Linear", {weight("cuda:0")});
  context.module("b", "Linear", {weight("cuda:1")});
  context.operand("self", "h", OperandKind::kLocal, "cuda:1",
                  {computed("cuda:1", "aten::addmm", "b.weight"), moved("cuda:1", {own("net.py", 7, "Net.__init__")})});
  Event sent = moved("cuda:0", {line});
  sent.device_text = "\"cuda:0\"";
  context.operand("other", "self.scale.to(\"cuda:0\")", OperandKind::kTemporary, "cuda:0", {sent}).offending = true;
  const auto finding = expect_code(context, "DV101");
  ASSERT_EQ(finding.fixes.size(), 1u) << "a map is no place of fix where there is none";
  ASSERT_TRUE(finding.fixes.front().edit);
  EXPECT_EQ(finding.fixes.front().edit->after, "return h * self.scale.to(h.device)");
  EXPECT_EQ(finding.naive_fix, "") << "no other line uses a value that has no name";
}

TEST(SingleDevice, TwoTablesDisagree) {
  const auto looked_up = [](const std::string& route, const std::string& home) {
    Case context;
    context.mixes("aten::embedding", "cuda:0", "cuda:1").frames({own("net.py", 9, "Net.forward", "table(ids)")});
    context.module("table", "Embedding", {weight("cuda:1")});
    Event put = moved("cuda:1", {own("net.py", 4, "Net.__init__", "nn.Embedding(9, 2).to(" + home + ")")});
    put.op = "Module.to";
    put.device_text = home;
    context.operand("weight", "table.weight", OperandKind::kParameter, "cuda:1", {put});
    Event sent = moved("cuda:0", {own("net.py", 8, "Net.send", "ids.to(" + route + ")")});
    sent.device_text = route;
    context.operand("indices", "ids", OperandKind::kInput, "cuda:0", {sent});
    return context;
  };
  const Case context = looked_up("self.route[name]", "home[name]");
  const auto finding = expect_code(context, "DV101");
  expect_operand(context, finding, "ids");
  expect_evidence(finding, "`ids` was sent to cuda:0, which `self.route[name]` chose");
  const Case same = looked_up("self.gpus[0]", "gpus[1]");
  for (const auto& other : diagnose(same.facts))
    for (const auto& sentence : other.evidence) EXPECT_EQ(sentence.text().find("chose"), std::string::npos);
}

TEST(SingleDevice, WhatATrainerHasWrappedIsTold) {
  Case context;
  const Frame line = own("kd.py", 38, "Distiller.compute_loss", "gap = teacher_logits - student.logits");
  const Frame step = lib("transformers", "transformers/trainer.py", 2082, "Trainer.training_step");
  context.mixes("aten::sub", "cuda:1", "cuda:0").frames({line, step, own("kd.py", 47, "<module>", "trainer.train()")});
  context.model().expression = "trainer";
  context.model().is_object = true;
  context.module("model", "Linear", {weight("cuda:0")});
  context.module("teacher", "Linear", {weight("cuda:1")});
  Event sent = moved("cuda:1", {own("kd.py", 43, "<module>", "teacher.to(\"cuda:1\")")});
  sent.op = "Module.to";
  context.operand("self", "teacher_logits", OperandKind::kTemporary, "cuda:1",
                  {computed("cuda:1", "aten::addmm", "teacher.weight"), sent});
  Event gathered =
      made("cuda:0", {lib("torch", "torch/nn/parallel/comm.py", 230, "gather"), line}, "torch.nn.DataParallel");
  gathered.owner.mechanism = "gather";
  context.operand("other", "student.logits", OperandKind::kTemporary, "cuda:0",
                  {computed("cuda:0", "aten::cat", ""), gathered});
  expect_evidence(expect_code(context, "DV101"), "`trainer` keeps networks on several GPUs");
  const auto has_note = [&] {
    const auto finding = expect_code(context, "DV101");
    return std::ranges::any_of(finding.evidence, [](const model::Message& sentence) {
      return sentence.text().starts_with("The Trainer has wrapped the model in torch.nn.DataParallel");
    });
  };
  EXPECT_FALSE(has_note()) << "the program may have wrapped it itself";
  context.facts.settings = {{"Trainer.args.n_gpu", "2", {}}};
  EXPECT_TRUE(has_note());
  context.facts.settings = {{"Trainer.args.n_gpu", "1", {}}};
  EXPECT_FALSE(has_note());
  context.facts.settings = {{"Trainer.args.n_gpu", "2", {}}};
  context.frames({line, own("kd.py", 47, "<module>", "loop(model)")});
  EXPECT_FALSE(has_note()) << "only the arguments are a Trainer's";
}

TEST(SingleDevice, WhatTheProgramsCallGaveComesToWhatTheLibraryComputed) {
  Case context;
  context.mixes("aten::mul", "cuda:1", "cuda:0")
      .frames({lib("transformers", "modeling_llama.py", 147, "apply_rotary_pos_emb", "q_embed = (q * cos)"),
               own("stages.py", 58, "TwoStages.run_stage", "h = layer(h, position_embeddings=rope)")});
  context.module("stage0", "LlamaDecoderLayer", {weight("cuda:0")});
  context.module("stage1", "LlamaDecoderLayer", {weight("cuda:1")});
  Event sent = moved("cuda:1", {own("stages.py", 51, "TwoStages.__init__", "self.stage1 = layers.to(d1)")});
  sent.device_text = "d1";
  auto& query = context.operand("self", "q", OperandKind::kLocal, "cuda:1",
                                {computed("cuda:1", "aten::transpose", "stage1.q_proj.weight"), sent});
  query.asked = "h";
  Event begun = made("cuda:0", {own("stages.py", 65, "TwoStages.forward", "ids = torch.arange(4, device=d0)")});
  begun.device_text = "d0";
  auto& cosine =
      context.operand("other", "cos", OperandKind::kLocal, "cuda:0", {computed("cuda:0", "aten::cos", ""), begun});
  cosine.given = {"rope"};
  cosine.given_in = "tuple";
  expect_operand(context, expect_code(context, "DV101"), "cos");

  Case kept = context;  // a table of the program's own, which it passes on as an attribute
  kept.facts.failure.operands.front().kind = OperandKind::kAttribute;
  expect_operand(kept, expect_code(kept, "DV101"), "q");
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
  Case context;
  llama(context, "cuda:1", "cuda:0");
  for (auto& module : context.model().modules) module.hooks.clear();
  context
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
  context.operand("weight", "self.weight", OperandKind::kParameter, "cuda:1", {mapped("cuda:1", "model.embed_tokens")})
      .qualified_name = "model.embed_tokens.weight";
  context.operand("indices", "input", OperandKind::kInput, "cuda:0", {sent}).offending = true;
  const auto finding = expect_code(context, "DV101");
  expect_operand(context, finding, "input");
  expect_fix(finding, FixKind::kConfiguration, "send inputs to the device");
}

TEST(SingleDevice, Qwen3Vl234MaskFollowsTheInputs) {
  Case context;
  llama(context, "cuda:3", "cuda:0");
  context.mixes("aten::masked_scatter_", "cuda:3", "cuda:0")
      .frames(
          {lib("transformers", "modeling_qwen2_vl.py", 1100, "Qwen2VL.forward", "", ""), own("infer.py", 30, "main")});
  context.operand(
      "self", "inputs_embeds", OperandKind::kLocal, "cuda:3",
      {computed("cuda:3", "aten::embedding", "model.embed_tokens.weight"), mapped("cuda:3", "model.embed_tokens")});
  Event to = moved("cuda:0", {own("infer.py", 25, "main", "inputs = inputs.to(model.device)")});
  context
      .operand("mask", "image_mask", OperandKind::kLocal, "cuda:0", {computed("cuda:0", "aten::eq", "input_ids"), to})
      .offending = true;
  expect_operand(context, expect_code(context, "DV101"), "image_mask");
}

TEST(SingleDevice, InternVlPr132) {
  Case context;
  llama(context);
  context
      .fails("aten::index", "indices should be either on cpu or on the same device as the indexed tensor (cuda:1)",
             SentenceKind::kIndex)
      .frames({lib("transformers_modules", "modeling_internvl_chat.py", 120, "InternVLChatModel.forward"),
               own("demo.py", 40, "main")});
  context.operand("self", "vit_embeds", OperandKind::kLocal, "cuda:1",
                  {computed("cuda:1", "aten::mm", "vision_model.encoder.weight"), mapped("cuda:1", "vision_model")});
  context
      .operand("indices[0]", "image_flags == 1", OperandKind::kTemporary, "cuda:0",
               {computed("cuda:0", "aten::eq", "image_flags"),
                moved("cuda:0", {own("demo.py", 33, "main", "pixel_values = pixel_values.to(args.device)")})})
      .offending = true;
  expect_code(context, "DV101");
}

TEST(SingleDevice, TextGen203StoppingCriteria) {
  Case context;
  llama(context);
  context.mixes("aten::eq", "cuda:0", "cuda:1", Phase::kGenerate)
      .frames(
          {own("callbacks.py", 20, "_SentinelTokenStoppingCriteria.__call__", "if torch.all(tail == self.sentinel):")});
  context.operand(
      "other", "self.sentinel", OperandKind::kUnknown, "cuda:0",
      {moved("cuda:0", {own("text.py", 60, "generate_reply", "ids = encode(stop).to(shared.args.device)")})});
  context.operand("self", "tail", OperandKind::kLocal, "cuda:1",
                  {computed("cuda:1", "aten::argmax", "lm_head.weight"), mapped("cuda:1", "lm_head")});
  expect_operand(context, expect_code(context, "DV101"), "self.sentinel");
}

TEST(SingleDevice, NotWithoutAModelOverSeveralGpus) {
  Case context;
  context.mixes("aten::add", "cuda:1", "cuda:0").frames({own("a.py", 3, "<module>", "y = x + bias")});
  context.operand("self", "x", OperandKind::kLocal, "cuda:1",
                  {made("cuda:1", {own("a.py", 1, "<module>", "x = torch.ones(3, device=\"cuda:1\")")})});
  context.operand("other", "bias", OperandKind::kLocal, "cuda:0",
                  {made("cuda:0", {own("a.py", 2, "<module>", "bias = torch.zeros(3, device=\"cuda:0\")")})});
  expect_code(context, "DV102");
}

TEST(KvCache, Accelerate2548HookMovesTheCache) {
  Case context;
  llama(context);
  context.mixes("aten::cat", "cuda:0", "cuda:1", Phase::kGenerate)
      .frames({lib("transformers", "cache_utils.py", 120, "DynamicLayer.update",
                   "self.keys = torch.cat([self.keys, key_states], dim=-2)"),
               lib("transformers", "modeling_llama.py", 250, "LlamaAttention.forward", "", "model.layers.2")});
  context.operand("tensors[0]", "self.keys", OperandKind::kCache, "cuda:0", {hooked("cuda:0")});
  context.operand(
      "tensors[1]", "key_states", OperandKind::kLocal, "cuda:1",
      {computed("cuda:1", "aten::mm", "model.layers.2.mlp.down_proj.weight"), mapped("cuda:1", "model.layers.2")});
  const auto finding = expect_code(context, "DV106");
  expect_fix(finding, FixKind::kConfiguration, "skip_keys");
  expect_operand(context, finding, "self.keys");
}

TEST(KvCache, Transformers32624StaticCache) {
  Case context;
  llama(context);
  context.mixes("aten::index_copy_", "cuda:0", "cuda:1", Phase::kGenerate)
      .frames({lib("transformers", "cache_utils.py", 900, "StaticCache.update",
                   "k_out.index_copy_(2, cache_position, key_states)")});
  context.operand(
      "self", "k_out", OperandKind::kCache, "cuda:0",
      {made("cuda:0", {lib("transformers", "cache_utils.py", 850, "StaticCache.__init__")}, "transformers")});
  context.operand("source", "key_states", OperandKind::kLocal, "cuda:1");
  expect_fix(expect_code(context, "DV106"), FixKind::kCreationSite, "for each layer");
}

TEST(KvCache, Transformers33147CachePosition) {
  Case context;
  llama(context);
  context
      .fails("aten::index_put_", "indices should be either on cpu or on the same device as the indexed tensor (cuda:1)",
             SentenceKind::kIndex, Phase::kGenerate)
      .frames({lib("transformers", "cache_utils.py", 1100, "HybridCache.update",
                   "k_out[:, :, cache_position] = key_states")});
  context.operand("self", "k_out", OperandKind::kCache, "cuda:1");
  context.operand("indices[2]", "cache_position", OperandKind::kLocal, "cuda:0", {hooked("cuda:0")}).offending = true;
  expect_code(context, "DV106");
}

TEST(KvCache, Transformers9200BeamIndices) {
  Case context;
  llama(context);
  context.mixes("aten::index_select", "cuda:0", "cuda:1", Phase::kGenerate)
      .frames({lib("transformers", "modeling_gpt2.py", 1000, "GPT2LMHeadModel._reorder_cache",
                   "past_state.index_select(0, beam_idx)")});
  context.operand("self", "past_state", OperandKind::kLocal, "cuda:1",
                  {computed("cuda:1", "aten::mm", "lm_head.weight"), mapped("cuda:1", "lm_head")});
  context.operand("index", "beam_idx", OperandKind::kLocal, "cuda:0",
                  {made("cuda:0", {lib("transformers", "generation/beam_search.py", 200, "process")}, "transformers")});
  expect_fix(expect_code(context, "DV106"), FixKind::kUseSite, "index");
}

TEST(SplitBlock, Accelerate1851ResidualOfALayer) {
  Case context;
  llama(context);
  context.map({{"model.layers.2.self_attn", "cuda:0"}, {"model.layers.2.mlp", "cuda:1"}});
  for (auto& module : context.model().modules) {
    if (module.path == "model.layers.2.mlp") module.hooks = context.model().find("model.layers.2")->hooks;
  }
  for (auto& module : context.model().modules) {
    if (module.path == "model.layers.2") module.hooks.clear();
  }
  context.module("model.layers.2.self_attn", "LlamaAttention", {weight("cuda:0")}, "cuda:0");
  context.mixes("aten::add", "cuda:0", "cuda:1")
      .frames({lib("transformers", "modeling_llama.py", 320, "LlamaDecoderLayer.forward",
                   "hidden_states = residual + hidden_states", "model.layers.2")});
  context.operand("self", "residual", OperandKind::kLocal, "cuda:0",
                  {computed("cuda:0", "aten::mm", "model.layers.2.self_attn.weight"),
                   mapped("cuda:0", "model.layers.2.self_attn")});
  context.operand(
      "other", "hidden_states", OperandKind::kLocal, "cuda:1",
      {computed("cuda:1", "aten::mm", "model.layers.2.mlp.down_proj.weight"), mapped("cuda:1", "model.layers.2.mlp")});
  const auto finding = expect_code(context, "DV107");
  expect_fix(finding, FixKind::kConfiguration, "no_split_module_classes=[\"LlamaDecoderLayer\"]");
}

TEST(SplitBlock, ACutInsideAttentionCutsItsLayer) {
  Case context;
  llama(context);
  context.map({{"model.layers.2.self_attn.q_proj", "cuda:0"}, {"model.layers.2.self_attn.k_proj", "cuda:1"}});
  context.module("model.layers.2.self_attn", "LlamaAttention");
  context.module("model.layers.2.self_attn.q_proj", "Linear", {weight("cuda:0")}, "cuda:0");
  context.module("model.layers.2.self_attn.k_proj", "Linear", {weight("cuda:1")}, "cuda:1");
  context.mixes("aten::mul", "cuda:0", "cuda:1")
      .frames({lib("transformers", "modeling_llama.py", 140, "LlamaAttention.forward", "q = q * k",
                   "model.layers.2.self_attn")});
  context.operand("self", "q", OperandKind::kLocal, "cuda:0",
                  {computed("cuda:0", "aten::mm", "model.layers.2.self_attn.q_proj.weight"),
                   mapped("cuda:0", "model.layers.2.self_attn.q_proj")});
  context.operand("other", "k", OperandKind::kLocal, "cuda:1",
                  {computed("cuda:1", "aten::mm", "model.layers.2.self_attn.k_proj.weight"),
                   mapped("cuda:1", "model.layers.2.self_attn.k_proj")});
  const auto finding = expect_code(context, "DV107");
  expect_fix(finding, FixKind::kConfiguration, "no_split_module_classes=[\"LlamaDecoderLayer\"]");
  expect_fix(finding, FixKind::kMap, "\"model.layers.2\"");
}

TEST(SplitBlock, Diffusers10308ParameterOfTheBlock) {
  Case context;
  context.map({{"blocks.0.ff", "cuda:1"}, {"blocks.0.scale_shift_table", "cuda:0"}});
  context.module("", "SanaTransformer");
  context.module("blocks.0", "SanaBlock", {weight("cuda:0", "scale_shift_table")});
  context.module("blocks.0.ff", "FeedForward", {weight("cuda:1")}, "cuda:1");
  context.mixes("aten::add", "cuda:0", "cuda:1")
      .frames({lib("diffusers", "sana_transformer.py", 150, "SanaBlock.forward", "", "blocks.0")});
  context
      .operand("self", "self.scale_shift_table", OperandKind::kParameter, "cuda:0",
               {mapped("cuda:0", "blocks.0.scale_shift_table")})
      .qualified_name = "blocks.0.scale_shift_table";
  context.operand("other", "hidden_states", OperandKind::kLocal, "cuda:1",
                  {computed("cuda:1", "aten::mm", "blocks.0.ff.weight"), mapped("cuda:1", "blocks.0.ff")});
  expect_code(context, "DV107");
}

TEST(SplitBlock, Diffusers11690SkipConnection) {
  Case context;
  context.map({{"down_blocks", "cuda:0"}, {"up_blocks", "cuda:1"}});
  context.module("up_blocks.0", "UpBlock2D", {weight("cuda:1")}, "cuda:1");
  context.mixes("aten::cat", "cuda:0", "cuda:1")
      .frames({lib("diffusers", "unet_2d_blocks.py", 2400, "UpBlock2D.forward", "", "up_blocks.0")});
  context
      .operand("tensors[0]", "hidden_states", OperandKind::kLocal, "cuda:1",
               {computed("cuda:1", "aten::conv2d", "up_blocks.0.weight"), mapped("cuda:1", "up_blocks")})
      .shape = std::vector<std::int64_t>{1, 4, 8, 8};
  context
      .operand("tensors[1]", "res_hidden_states", OperandKind::kLocal, "cuda:0",
               {computed("cuda:0", "aten::conv2d", "down_blocks.0.weight"), mapped("cuda:0", "down_blocks")})
      .shape = std::vector<std::int64_t>{1, 4, 8, 8};
  expect_code(context, "DV107");
}

TEST(SplitBlock, StarCoder29AMapThatCutsABlock) {
  Case context;
  context.map({{"transformer.h.26.ln_1", "cuda:0"},
               {"transformer.h.26.attn", "cuda:0"},
               {"transformer.h.26.mlp.c_proj", "cuda:1"}});
  context.module("transformer.h.26", "GPTBigCodeBlock");
  context.module("transformer.h.26.ln_1", "LayerNorm", {weight("cuda:0")}, "cuda:0");
  context.module("transformer.h.26.mlp.c_proj", "Linear", {weight("cuda:1")}, "cuda:1");
  context.mixes("aten::add", "cuda:0", "cuda:1")
      .frames({lib("transformers", "modeling_gpt_bigcode.py", 500, "GPTBigCodeBlock.forward", "", "transformer.h.26")});
  context.operand("self", "residual", OperandKind::kLocal, "cuda:0");
  context.operand("other", "feed_forward_hidden_states", OperandKind::kLocal, "cuda:1");
  expect_code(context, "DV107");
}

}  // namespace devsan::diagnose::test
