# expect: DV101 | gpus: 2 | operands: inputs_embeds, image_mask | owner: program
"""Qwen3-VL 234: the mask of the image's tokens is computed from ids on one GPU, the embeddings are on another."""

import torch
from accelerate import dispatch_model


class Embeddings(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = torch.nn.Embedding(8, 4)

    def forward(self, ids):
        return self.tokens(ids)


class Qwen2VL(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.visual = torch.nn.Linear(6, 4)
        self.embeddings = Embeddings()
        self.lm_head = torch.nn.Linear(4, 8)

    def forward(self, input_ids, pixel_values):
        inputs_embeds = self.embeddings(input_ids)
        image_embeds = self.visual(pixel_values)
        image_mask = (input_ids == 7).unsqueeze(-1).expand_as(inputs_embeds)
        image_embeds = image_embeds.to(inputs_embeds.device, inputs_embeds.dtype)
        inputs_embeds = inputs_embeds.masked_scatter(image_mask, image_embeds)
        return self.lm_head(inputs_embeds)


model = dispatch_model(Qwen2VL(), {"visual": 0, "embeddings": 1, "lm_head": 1}, main_device=0)
model(torch.tensor([[1, 7, 7, 2]]).to("cuda:0"), torch.randn(2, 6).to("cuda:0"))
