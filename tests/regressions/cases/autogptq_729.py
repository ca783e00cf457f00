# expect: DV105 | gpus: 1 | operands: q, cos | owner: program
"""AutoGPTQ 729: the list of what is moved outside of the layers has no rotary_emb."""

import torch


class Rotary(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("inv_freq", torch.ones(4), persistent=False)

    def forward(self, positions):
        return (positions[:, None] * self.inv_freq).cos()


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = torch.nn.Linear(4, 4)

    def forward(self, x, cos):
        q = self.q_proj(x)
        return q * cos


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = torch.nn.Embedding(8, 4)
        self.rotary_emb = Rotary()
        self.layers = torch.nn.ModuleList([Layer(), Layer()])

    def forward(self, ids):
        x = self.embed_tokens(ids)
        cos = self.rotary_emb(torch.arange(ids.shape[1]))
        for layer in self.layers:
            x = layer(x, cos)
        return x


def quantize(model, outside_layer_modules=("embed_tokens",)):
    for name in outside_layer_modules:
        getattr(model, name).to("cuda:0")
    for layer in model.layers:
        layer.to("cuda:0")
    return model(torch.tensor([[1, 2]], device="cuda:0"))


quantize(Model())
