# expect: DV105 | gpus: 2 | operands: inv_freq_expanded, position_ids_expanded | owner: program
"""transformers 35505: a map by hand that was written before rotary_emb became a module of the model."""

import torch
from accelerate import dispatch_model


class RotaryEmbedding(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / 10000 ** (torch.arange(0, width, 2).float() / width), persistent=False)

    def forward(self, x, position_ids):
        inv_freq_expanded = self.inv_freq[None, :, None].expand(position_ids.shape[0], -1, 1).float()
        position_ids_expanded = position_ids[:, None, :].float()
        return torch.bmm(inv_freq_expanded, position_ids_expanded).cos().to(x.dtype)


class LanguageModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = torch.nn.Embedding(8, 4)
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)])
        self.rotary_emb = RotaryEmbedding(4)

    def forward(self, ids):
        x = self.embed_tokens(ids)
        position_ids = torch.arange(ids.shape[1], device=x.device)[None]
        rope = self.rotary_emb(x, position_ids)
        for layer in self.layers:
            x = layer(x)
        return x, rope


class InternVL(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.vision_model = torch.nn.Linear(4, 4)
        self.language_model = LanguageModel()

    def forward(self, ids):
        return self.language_model(ids)


where = {"vision_model": 0, "language_model.embed_tokens": 0, "language_model.layers.0": 0,
         "language_model.layers.1": 1}  # fmt: skip
model = dispatch_model(InternVL(), where, main_device=0)
model(torch.tensor([[1, 2, 3]], device=0))
