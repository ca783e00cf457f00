// The edges of a spread model: its end, and what the map does not reach. Cases of the corpus, by their id.

#include "diagnose/programs.h"

namespace devsan::diagnose::test {

using model::FixKind;

TEST(ReductionBoundary, SelfLlm217) {
  Case context;
  llama(context, "cuda:1", "cuda:3");
  context
      .fails("aten::nll_loss_forward",
             "Expected all tensors to be on the same device, but got target is on cuda:1, different from other tensors "
             "on cuda:3 (when checking argument in method wrapper_CUDA_nll_loss_forward)",
             SentenceKind::kMixed, Phase::kLoss)
      .frames({lib("torch", "torch/nn/functional.py", 3400, "cross_entropy"),
               lib("transformers_modules", "modeling_chatglm.py", 957, "ChatGLM.forward",
                   "loss = loss_fct(shift_logits.view(-1, shift_logits.size(-1)), shift_labels.view(-1))", ""),
               lib("transformers", "trainer.py", 3600, "Trainer.compute_loss")});
  context
      .operand("self", "shift_logits", OperandKind::kLocal, "cuda:3",
               {computed("cuda:3", "aten::mm", "lm_head.weight"), mapped("cuda:3", "lm_head")})
      .bytes = 1 << 30;
  Event sent = moved("cuda:1", {lib("transformers", "trainer.py", 3700, "Trainer._prepare_input")}, "transformers");
  sent.device_text = "self.args.device";
  context.operand("target", "shift_labels", OperandKind::kInput, "cuda:1", {sent}).offending = true;
  const auto finding = expect_code(context, "DV104");
  expect_operand(context, finding, "shift_labels");
  expect_fix(finding, FixKind::kUseSite, "move `shift_labels` to the device of `shift_logits`");
  EXPECT_EQ(finding.confidence, model::Confidence::kCertain);
}

TEST(ReductionBoundary, TheWeightOfALossIsAloneOnItsDevice) {
  Case context;
  llama(context);
  context.mixes("aten::nll_loss_forward", "cuda:1", "cuda:0", Phase::kLoss)
      .frames({lib("torch", "torch/nn/functional.py", 3400, "cross_entropy"),
               own("head.py", 18, "Head.forward", "return cross_entropy(logits, labels, weight=weights)")});
  context
      .operand("self", "logits", OperandKind::kLocal, "cuda:1",
               {computed("cuda:1", "aten::mm", "lm_head.weight"), mapped("cuda:1", "lm_head")})
      .bytes = 1 << 20;
  context.operand("target", "labels", OperandKind::kInput, "cuda:1",
                  {moved("cuda:1", {own("head.py", 23, "<module>")})});
  Event followed = moved("cuda:0", {own("head.py", 17, "Head.forward", "weights = torch.tensor(w).to(ids.device)")});
  followed.device_text = "ids.device";
  context.operand("weight", "weights", OperandKind::kLocal, "cuda:0", {followed}).offending = true;
  const auto finding = expect_code(context, "DV104");
  expect_operand(context, finding, "weights");
  ASSERT_TRUE(finding.fixes.front().edit);
  EXPECT_EQ(finding.fixes.front().edit->after,
            "return cross_entropy(logits, labels, weight=weights.to(logits.device))");
}

TEST(ReductionBoundary, WhatBackwardMeetsIsNone) {
  Case context;
  llama(context);
  context.mixes("aten::nll_loss_backward", "cuda:1", "cuda:0", Phase::kLoss)
      .frames({own("train.py", 37, "<module>", "loss.backward()")});
  Event back = moved("cuda:0", {own("park.py", 16, "Park.unpack", "return tensor.to(self.device)")});
  back.device_text = "self.device";
  context.operand("self", "", OperandKind::kTemporary, "cuda:0", {back}).offending = true;
  context.operand("target", "", OperandKind::kTemporary, "cuda:1",
                  {moved("cuda:1", {own("train.py", 34, "<module>", "labels = labels.to(\"cuda:1\")")})});
  expect_code(context, "DV101");
}

TEST(ReductionBoundary, Transformers37886CountOfItems) {
  Case context;
  llama(context);
  context.mixes("aten::div", "cuda:1", "cuda:0", Phase::kLoss)
      .frames(
          {lib("transformers", "loss/loss_utils.py", 40, "fixed_cross_entropy", "loss = loss / num_items_in_batch")});
  context
      .operand("self", "loss", OperandKind::kLocal, "cuda:1",
               {computed("cuda:1", "aten::nll_loss_forward", "lm_head.weight"), mapped("cuda:1", "lm_head")})
      .shape.emplace();
  Event sent = moved("cuda:0", {lib("transformers", "trainer.py", 5500, "Trainer.get_batch_samples")}, "transformers");
  sent.device_text = "device";
  context.operand("other", "num_items_in_batch", OperandKind::kInput, "cuda:0", {sent}).shape.emplace();
  const auto finding = expect_code(context, "DV104");
  expect_operand(context, finding, "num_items_in_batch");
  ASSERT_TRUE(finding.fixes.front().edit);
  EXPECT_EQ(finding.fixes.front().edit->after, "loss = loss / num_items_in_batch.to(loss.device)");
}

TEST(ReductionBoundary, Pytorch38605ClipGradNorm) {
  Case context;
  context
      .fails("aten::stack", "All input tensors must be on the same device. Received cuda:0 and cuda:1",
             SentenceKind::kMixed, Phase::kOptimizer)
      .frames({lib("torch", "torch/nn/utils/clip_grad.py", 40, "clip_grad_norm_"), own("train.py", 50, "train")});
  for (const char* device : {"cuda:0", "cuda:1"}) {
    context.operand("tensors[0]", "", OperandKind::kTemporary, device, {computed(device, "aten::norm", "p.grad")})
        .shape.emplace();
  }
  expect_fix(expect_code(context, "DV104"), FixKind::kUseSite, "one device first");
}

TEST(ReductionBoundary, Lightning4877EpochEnd) {
  Case context;
  context.model().wrappers = {"torch.nn.DataParallel"};
  context.mixes("aten::stack", "cuda:2", "cuda:0", Phase::kNone)
      .frames(
          {own("model.py", 80, "Net.training_epoch_end", "loss = torch.stack([o[\"loss\"] for o in outputs]).mean()")});
  context.operand("tensors[0]", "", OperandKind::kTemporary, "cuda:0").shape.emplace();
  context.operand("tensors[1]", "", OperandKind::kTemporary, "cuda:2").shape.emplace();
  expect_code(context, "DV104");
}

TEST(ReductionBoundary, Orpo18TrainerRefusesTheLoss) {
  Case context;
  context.fails("", "Calculated loss must be on the original device: cuda:0 but device in use is cuda:3",
                SentenceKind::kMixed, Phase::kLoss);
  expect_code(context, "DV104");
}

TEST(ReductionBoundary, Unsloth4041MaskedFillOfTheLoss) {
  Case context;
  llama(context, "cuda:0", "cuda:1");
  context
      .fails("aten::masked_fill_",
             "expected self and mask to be on the same device, but got mask on cuda:0 and self on cuda:1",
             SentenceKind::kMixed, Phase::kLoss)
      .frames({lib("unsloth", "cross_entropy_loss.py", 300, "Fast_CrossEntropyLoss.forward",
                   "losses.masked_fill_(labels == -100, 0)")});
  context.operand("self", "losses", OperandKind::kLocal, "cuda:1",
                  {computed("cuda:1", "aten::empty_like", "lm_head.weight"), mapped("cuda:1", "lm_head")});
  Event sent = moved("cuda:0", {lib("transformers", "trainer.py", 3700, "Trainer._prepare_input")}, "transformers");
  sent.device_text = "self.args.device";
  context
      .operand("mask", "labels == -100", OperandKind::kTemporary, "cuda:0",
               {computed("cuda:0", "aten::eq", "labels"), sent})
      .offending = true;
  expect_operand(context, expect_code(context, "DV104"), "labels == -100");
}

TEST(MapGap, Transformers34456MapListsParameters) {
  Case context;
  llama(context);
  context.map({{"model.embed_tokens", "cuda:0"},
               {"model.layers", "cuda:0"},
               {"model.norm.weight", "cuda:1"},
               {"lm_head.weight", "cuda:1"}});
  context.module("model.rotary_emb", "LlamaRotaryEmbedding", {buffer("cpu", "inv_freq", false)});
  context.mixes("aten::bmm", "cpu", "cuda:0")
      .frames({lib("transformers", "modeling_llama.py", 150, "LlamaRotaryEmbedding.forward", "", "model.rotary_emb")});
  context.operand(
      "self", "inv_freq_expanded", OperandKind::kLocal, "cpu",
      {computed("cpu", "aten::expand", "model.rotary_emb.inv_freq"),
       made("cpu", {lib("transformers", "modeling_llama.py", 90, "LlamaRotaryEmbedding.__init__")}, "transformers")});
  context.operand("mat2", "position_ids_expanded", OperandKind::kLocal, "cuda:0", {hooked("cuda:0")});
  const auto finding = expect_code(context, "DV105");
  expect_operand(context, finding, "inv_freq_expanded");
  expect_evidence(finding, "No entry of the device map covers model.rotary_emb");
  expect_evidence(finding, "non-persistent");
  expect_fix(finding, FixKind::kMap, "\"model.rotary_emb\": \"cuda:0\"");
}

TEST(MapGap, Transformers35505BufferItself) {
  Case context;
  llama(context);
  context.module("model.rotary_emb", "Qwen2RotaryEmbedding", {buffer("cpu", "inv_freq", false)});
  context.mixes("aten::bmm", "cpu", "cuda:0")
      .frames({lib("transformers", "modeling_qwen2.py", 150, "Qwen2RotaryEmbedding.forward")});
  context.operand("self", "inv_freq_expanded", OperandKind::kBuffer, "cpu").qualified_name =
      "model.rotary_emb.inv_freq";
  context.operand("mat2", "position_ids_expanded", OperandKind::kLocal, "cuda:0", {hooked("cuda:0")});
  expect_code(context, "DV105");
}

TEST(MapGap, Accelerate362MapOfAnotherClass) {
  Case context;
  llama(context);
  context.map({{"decoder.embed_tokens", "cuda:0"}, {"decoder.layers.0", "cuda:0"}, {"decoder.layers.1", "cuda:1"}});
  context.mixes("aten::addmm", "cuda:0", "cuda:1")
      .frames({lib("torch", "torch/nn/modules/linear.py", 125, "Linear.forward")});
  context.operand("mat2", "self.weight", OperandKind::kParameter, "cuda:1").qualified_name =
      "model.layers.2.mlp.down_proj.weight";
  context.operand("mat1", "input", OperandKind::kTemporary, "cuda:0", {hooked("cuda:0")});
  expect_evidence(expect_code(context, "DV105"), "No entry of the device map covers");
}

TEST(MapGap, AutoRound1308ModuleReplacedAfterDispatch) {
  Case context;
  llama(context);
  context.map({{"model.embed_tokens", "cuda:0"}, {"model.layers.2", "cuda:1"}});
  for (auto& module : context.model().modules) {
    if (module.path.empty() || module.path.starts_with("model.layers.2")) module.hooks.clear();
  }
  context.mixes("aten::addmm", "cuda:0", "cuda:1")
      .frames({lib("torch", "torch/nn/modules/linear.py", 125, "Linear.forward")});
  context.operand("mat2", "self.weight", OperandKind::kParameter, "cuda:1").qualified_name =
      "model.layers.2.mlp.down_proj.weight";
  context.operand("mat1", "input", OperandKind::kTemporary, "cuda:0", {hooked("cuda:0")});
  expect_evidence(expect_code(context, "DV105"), "added after dispatch");
}

TEST(MapGap, AutoAwq558MoversListIsOlderThanTheModel) {
  Case context;
  context.model().expression = "self.model";
  context.module("", "LlamaForCausalLM");
  context.module("model.embed_tokens", "Embedding", {weight("cuda:0")});
  context.module("model.layers.0", "LlamaDecoderLayer", {weight("cuda:0")});
  context.module("model.rotary_emb", "LlamaRotaryEmbedding", {buffer("cpu", "inv_freq", false)});
  for (const char* part : {"model.layers.0", "model.embed_tokens"}) {
    Event move =
        moved("cuda:0", {lib("autoawq", "awq/quantize/quantizer.py", 500, "AwqQuantizer.init_quant")}, "autoawq");
    move.subject = part;
    move.owner.mechanism = "Module.to";
    context.model().placements.push_back(move);
  }
  context.mixes("aten::bmm", "cpu", "cuda:0")
      .frames({lib("transformers", "modeling_llama.py", 150, "LlamaRotaryEmbedding.forward")});
  context.operand("self", "inv_freq_expanded", OperandKind::kBuffer, "cpu").qualified_name =
      "model.rotary_emb.inv_freq";
  context.operand("mat2", "position_ids_expanded", OperandKind::kLocal, "cuda:0");
  const auto finding = expect_code(context, "DV105");
  expect_evidence(finding, "autoawq");
  expect_operand(context, finding, "inv_freq_expanded");
}

TEST(MapGap, Compel121CallPastTheHook) {
  Case context;
  auto& encoder = context.module("", "CLIPTextModel", {}, "cuda:0");
  encoder.hooks.front().type = "CpuOffload";
  context.module("text_model.embeddings", "CLIPTextEmbeddings", {weight("cpu")});
  context.mixes("aten::index_select", "cuda:0", "cpu")
      .frames({lib("transformers", "modeling_clip.py", 200, "CLIPTextEmbeddings.forward", "", "text_model.embeddings"),
               lib("compel", "embeddings_provider.py", 300, "EmbeddingsProvider.build")});
  // The root's forward was not called: no frame of the text encoder itself.
  context.facts.failure.frames.front().module = "text_model.embeddings";
  context.model().modules.front().path = "text_model";
  context.operand("weight", "self.weight", OperandKind::kParameter, "cpu").qualified_name =
      "text_model.embeddings.weight";
  context.operand("indices", "input_ids", OperandKind::kInput, "cuda:0");
  expect_evidence(expect_code(context, "DV105"), "bypassed forward");
}

TEST(MapGap, RefusedMap) {
  Case context;
  context.fails("", "The device_map provided does not give any device for the following parameters: lm_head.weight",
                SentenceKind::kPlacement);
  expect_code(context, "DV105");
}

TEST(MapGap, NotWhereTheMapAndTheHooksReach) {
  Case context;
  llama(context);
  context.mixes("aten::addmm", "cuda:0", "cuda:1")
      .frames({lib("torch", "torch/nn/modules/linear.py", 125, "Linear.forward")});
  context.operand("mat2", "self.weight", OperandKind::kParameter, "cuda:1").qualified_name =
      "model.layers.2.mlp.down_proj.weight";
  context.operand("mat1", "input", OperandKind::kTemporary, "cuda:0");
  for (const auto& finding : diagnose(context.facts)) EXPECT_NE(finding.code, "DV105") << text_of({finding});
}

TEST(ReductionBoundary, ARunningTotalIsNotReplacedByACopy) {
  Case context;
  context.mixes("aten::add_", "cuda:0", "cuda:1").frames({own("train.py", 12, "<module>", "total += loss.detach()")});
  auto zeros = made("cuda:0", {own("train.py", 5, "<module>", "total = torch.zeros((), device=\"cuda:0\")")});
  zeros.op = "aten::zeros";
  context.operand("self", "total", OperandKind::kLocal, "cuda:0", {zeros}).shape = std::vector<std::int64_t>{};
  context.operand("other", "loss", OperandKind::kLocal, "cuda:1").shape = std::vector<std::int64_t>{};
  const auto finding = expect_code(context, "DV104");
  expect_operand(context, finding, "total");
  expect_fix(finding, FixKind::kUseSite, "move `loss`");
}

}  // namespace devsan::diagnose::test
