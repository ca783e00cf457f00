# expect: DV101 | gpus: 2 | operands: input_ids, next_tokens | owner: program
"""transformers PR 34076: generate assumes that the logits are where the ids are."""

import torch


class LM(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(8, 4).to("cuda:0")
        self.lm_head = torch.nn.Linear(4, 8).to("cuda:1")

    @property
    def device(self):
        return next(self.parameters()).device

    def forward(self, ids):
        return self.lm_head(self.embed(ids).to("cuda:1"))


def sample(model, input_ids, steps):
    for _ in range(steps):
        next_token_logits = model(input_ids)[:, -1]
        next_tokens = next_token_logits.argmax(-1)
        input_ids = torch.cat([input_ids, next_tokens[:, None]], dim=-1)
    return input_ids


model = LM()
sample(model, torch.tensor([[1, 2]]).to(model.device), 2)
