# expect: DV105 | gpus: 1 | operands: self.position_net.weight, boxes | owner: program
"""ComfyUI 2818: an auxiliary model is not in the loader's list."""

import torch


class Gligen(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.position_net = torch.nn.Linear(4, 4, bias=False)

    def forward(self, boxes):
        return self.position_net(boxes)


class Patcher(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.unet = torch.nn.Linear(4, 4)
        self.gligen = Gligen()

    def forward(self, x, boxes):
        return self.unet(x) + self.gligen(boxes)


def load_models_gpu(models):
    for model in models:
        model.to("cuda:0")


patcher = Patcher()
load_models_gpu([patcher.unet])
patcher(torch.randn(2, 4, device="cuda:0"), torch.rand(2, 4, device="cuda:0"))
