# expect: DV103 | gpus: 2 | operands: self.wte.weight, input_ids | owner: program
"""A loop moves what a batch holds and keeps none of it; the model takes its inputs through a wrapper of its library."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel


class Replica:
    def __init__(self, model, device):
        self.model, self.device = model.to(device).eval(), device

    @torch.inference_mode()
    def run(self, prompts):
        inputs = {"input_ids": torch.tensor(prompts), "attention_mask": torch.ones(len(prompts), len(prompts[0]))}
        for tensor in inputs.values():
            tensor.to(self.device, non_blocking=True)
        return self.decode(inputs["input_ids"], inputs["attention_mask"])

    def decode(self, ids, mask):
        past, current = None, ids
        return self.model(input_ids=current, attention_mask=mask, past_key_values=past).logits


config = GPT2Config(vocab_size=17, n_embd=8, n_layer=1, n_head=2, n_positions=16)
print(Replica(GPT2LMHeadModel(config), "cuda:1").run([[1, 2], [3, 4]]).sum().item())
