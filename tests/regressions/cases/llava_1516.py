# expect: DV115 | gpus: 2 | operands: image, self.vision_tower.weight | owner: program
"""LLaVA 1516: --device cuda:1 reaches the language model, the vision tower is loaded to the default "cuda"."""

import argparse

import torch


class Llava(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.vision_tower = torch.nn.Conv2d(3, 4, 2)
        self.language = torch.nn.Linear(4, 4)

    def forward(self, image):
        return self.language(self.vision_tower(image).mean((2, 3)))


def load_pretrained_model(device="cuda"):
    model = Llava()
    model.language.to(device=device)
    model.vision_tower.to(device="cuda", dtype=torch.float32)
    return model


args = argparse.Namespace(device="cuda:1")
model = load_pretrained_model(device=args.device)
image_tensor = torch.randn(1, 3, 4, 4).to(args.device)
model(image_tensor)
