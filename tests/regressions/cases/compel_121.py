# expect: DV105 | gpus: 1 | operands: self.text_encoder.weight, tokens | owner: program
"""A text encoder was not moved with the rest of the pipeline."""

import torch


class Pipeline:
    def __init__(self):
        self.unet = torch.nn.Linear(4, 4)
        self.text_encoder = torch.nn.Embedding(8, 4)

    def to(self, device):
        self.unet.to(device)
        return self

    def __call__(self, tokens):
        return self.unet(self.text_encoder(tokens))


Pipeline().to("cuda")(torch.tensor([1, 2], device="cuda"))
