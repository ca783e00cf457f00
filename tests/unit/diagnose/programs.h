#pragma once

#include "diagnose/case.h"

namespace devsan::diagnose::test {

// The programs that many cases are about.

/// A line in a network's forward.
inline Frame forward(std::string source, int line = 30) {
  return own("net.py", line, "Net.forward", std::move(source), "net");
}

/// A line of its training loop.
inline Frame train(int line, std::string source = "") { return own("train.py", line, "train", std::move(source)); }

/// A Llama of four layers over two GPUs, loaded with device_map="auto".
inline void llama(Case& context, Device embedding = "cuda:0", Device head = "cuda:1") {
  context.model().expression = "model";
  context.model().type = "LlamaForCausalLM";
  context.model().device_map_text = "device_map=\"auto\"";
  context.map({{"model.embed_tokens", embedding},
               {"model.layers.0", "cuda:0"},
               {"model.layers.1", "cuda:0"},
               {"model.layers.2", "cuda:1"},
               {"model.layers.3", "cuda:1"},
               {"model.norm", head},
               {"lm_head", head}});
  context.module("", "LlamaForCausalLM", {}, embedding);
  context.module("model", "LlamaModel");
  context.module("model.embed_tokens", "Embedding", {weight(embedding)}, embedding);
  context.module("model.layers", "ModuleList");
  for (const int layer : {0, 1, 2, 3}) {
    const std::string path = "model.layers." + std::to_string(layer);
    const Device device = layer < 2 ? "cuda:0" : "cuda:1";
    context.module(path, "LlamaDecoderLayer", {}, device);
    context.module(path + ".mlp", "LlamaMLP");
    context.module(path + ".mlp.down_proj", "Linear", {weight(device)});
  }
  context.module("model.norm", "LlamaRMSNorm", {weight(head)}, head);
  context.module("lm_head", "Linear", {weight(head)}, head);
}

}  // namespace devsan::diagnose::test
