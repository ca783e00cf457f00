# expect: DV109 | gpus: 2 | operands: delta, layer.weight | owner: torch.load
"""A LoRA checkpoint is merged by hand into a model that is spread over two GPUs."""

import os
import tempfile

import torch
from accelerate import dispatch_model
from transformers import LlamaConfig, LlamaForCausalLM

RANK, ALPHA = 2, 4


def save_adapter(model, path):
    state = {}
    for name, module in model.named_modules():
        if name.endswith(("q_proj", "v_proj")):
            state[f"{name}.lora_A"] = torch.randn(RANK, module.in_features)
            state[f"{name}.lora_B"] = torch.randn(module.out_features, RANK)
    torch.save(state, path)


@torch.no_grad()
def merge_lora(model, path):
    lora = torch.load(path, map_location="cuda:0")
    for name in sorted({key.rsplit(".", 1)[0] for key in lora}):
        layer = model.get_submodule(name)
        delta = (lora[f"{name}.lora_B"] @ lora[f"{name}.lora_A"]) * (ALPHA / RANK)
        layer.weight.data += delta
    return model


config = LlamaConfig(
    vocab_size=32,
    hidden_size=16,
    intermediate_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=2,
)
model = LlamaForCausalLM(config)
path = os.path.join(tempfile.mkdtemp(), "adapter.pt")
save_adapter(model, path)
model = dispatch_model(
    model,
    {
        "model.embed_tokens": 0,
        "model.rotary_emb": 0,
        "model.layers.0": 0,
        "model.layers.1": 1,
        "model.norm": 1,
        "lm_head": 1,
    },
)
merge_lora(model, path)
