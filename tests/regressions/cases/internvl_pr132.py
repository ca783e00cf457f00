# expect: DV101 | gpus: 2 | operands: vit_embeds, image_flags == 1 | owner: program
"""InternVL PR 132: features come back on the vision tower's GPU and are chosen with flags of the text's side."""

import torch
from accelerate import dispatch_model


class InternVLChat(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.vision_model = torch.nn.Linear(6, 4)
        self.language_model = torch.nn.Linear(4, 8)

    def forward(self, pixel_values, image_flags):
        vit_embeds = self.vision_model(pixel_values)
        vit_embeds = vit_embeds[image_flags == 1]
        return self.language_model(vit_embeds)


model = dispatch_model(InternVLChat(), {"vision_model": 1, "language_model": 0}, main_device=0)
flags = torch.tensor([1, 0, 1], device=next(model.language_model.parameters()).device)
model(torch.randn(3, 6, device="cuda:0"), image_flags=flags)
