# expect: DV113 | gpus: 2 | operands: module.base_layer.weight, module.get_delta_weight(name) | owner: program
"""Clean copies of the base weights are kept from before a move, and put back before each adapter is merged."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.last(self.first(x).relu())


class Switcher:
    def __init__(self, model):
        self.layers = {name: each for name, each in model.named_modules() if hasattr(each, "base_layer")}
        self.clean = {name: each.base_layer.weight.detach().clone() for name, each in self.layers.items()}

    @torch.no_grad()
    def use(self, name):
        for path, module in self.layers.items():
            module.base_layer.weight.data = self.clean[path].clone()
        for module in self.layers.values():
            module.base_layer.weight.data += module.get_delta_weight(name)


torch.manual_seed(0)
model = get_peft_model(Net(), LoraConfig(r=2, target_modules=["first"]), adapter_name="one")
model.add_adapter("two", LoraConfig(r=2, target_modules=["first"]))
model.to("cuda:0")
switcher = Switcher(model)
switcher.use("one")
model.to("cuda:1")
switcher.use("two")
print(model(torch.randn(3, 8, device="cuda:1")).sum().item())
