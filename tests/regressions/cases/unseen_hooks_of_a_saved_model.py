# expect: DV105 | gpus: 2 | operands: self.weight | owner: transformers
"""Hooks are taken off so that a dispatched model can be pickled; the same object goes on generating."""

import tempfile

import torch
from accelerate.hooks import remove_hook_from_submodules
from transformers import LlamaConfig, LlamaForCausalLM


def tiny():
    return LlamaConfig(vocab_size=40, hidden_size=16, intermediate_size=32, num_hidden_layers=4, num_attention_heads=2,
                       num_key_value_heads=2)  # fmt: skip


def snapshot(model):
    remove_hook_from_submodules(model)
    return {name: weight.cpu() for name, weight in model.state_dict().items()}


def main():
    places = {"model.embed_tokens": 0, "model.rotary_emb": 0, "model.norm": 1, "lm_head": 1}
    places |= {f"model.layers.{at}": at // 2 for at in range(4)}
    with tempfile.TemporaryDirectory() as folder:
        LlamaForCausalLM(tiny()).save_pretrained(folder)
        model = LlamaForCausalLM.from_pretrained(folder, device_map=places)
    ids = torch.randint(0, 40, (2, 6), device="cuda:0")
    model(ids)
    snapshot(model)
    print(model(ids).logits.shape)


main()
