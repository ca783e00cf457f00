# expect: DV109 | gpus: 2 | operands: prompts, inputs_embeds | owner: program
"""A soft prompt is made on one GPU, and the embedding that it is put before is on the other."""

import torch
from accelerate import dispatch_model


class PromptEncoder(torch.nn.Module):
    def __init__(self, base, tokens):
        super().__init__()
        self.base_model = base
        self.prompt_embeddings = torch.nn.Parameter(torch.randn(1, tokens, 4, device="cuda:0"))

    def forward(self, ids):
        inputs_embeds = self.base_model.embed(ids)
        prompts = self.prompt_embeddings.expand(ids.shape[0], -1, -1)
        return self.base_model.head(torch.cat([prompts, inputs_embeds], dim=1))


base = torch.nn.ModuleDict({"embed": torch.nn.Embedding(8, 4), "head": torch.nn.Linear(4, 4)})
base = dispatch_model(base, {"embed": 1, "head": 0}, main_device=0)
PromptEncoder(base, 2)(torch.tensor([[1, 2]], device="cuda:0"))
