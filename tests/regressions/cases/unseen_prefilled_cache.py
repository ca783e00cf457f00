# expect: DV106 | gpus: 2 | operands: self.keys | owner: program
"""Two replicas of a model share what was computed for a prompt, under a key that does not say for which."""

import copy

import torch
from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel

config = GPT2Config(vocab_size=17, n_embd=8, n_layer=2, n_head=2, n_positions=16)
replicas = [GPT2LMHeadModel(config).eval().to(device) for device in ("cuda:0", "cuda:1")]
prefilled = {}


@torch.no_grad()
def answer(model, prompt, ids):
    if prompt not in prefilled:
        prefilled[prompt] = DynamicCache(config=config)
        model(torch.tensor([prompt], device=model.device), past_key_values=prefilled[prompt], use_cache=True)
    cache = copy.deepcopy(prefilled[prompt])
    return model(torch.tensor([ids], device=model.device), past_key_values=cache, use_cache=True).logits


for replica in replicas:
    answer(replica, (1, 2, 3), (4, 5))
