# expect: DV101 | gpus: 2 | operands: stopping_ids, trimmed_sample | owner: program
"""text-generation-webui 203: stop ids are built on the default GPU, the generated ids are on another."""

import torch
import transformers
from tiny import llama_on_gpus


class _SentinelTokenStoppingCriteria(transformers.StoppingCriteria):
    def __init__(self, sentinel_token_ids, starting_idx):
        self.sentinel_token_ids, self.starting_idx = sentinel_token_ids, starting_idx

    def __call__(self, input_ids, _scores):
        stopping_ids = self.sentinel_token_ids
        for sample in input_ids:
            trimmed_sample = sample[self.starting_idx :]
            if torch.all(torch.eq(stopping_ids, trimmed_sample[-2:])):
                return True
        return False


model = llama_on_gpus({"model.embed_tokens": 1, "model.rotary_emb": 1, "model.layers.0": 1, "model.layers.1": 0,
                       "model.norm": 0, "lm_head": 0})  # fmt: skip
input_ids = torch.tensor([[1, 2, 3]], device=model.model.embed_tokens.weight.device)
sentinel = torch.tensor([4, 5]).to("cuda:0")
criteria = transformers.StoppingCriteriaList([_SentinelTokenStoppingCriteria(sentinel, 1)])
model.generate(input_ids, max_new_tokens=3, do_sample=False, stopping_criteria=criteria)
