# expect: DV110 | gpus: 2 | operands: self.average[name].mul_(self.decay), value | owner: program
import torch
from torch import nn


class Average:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.average = {name: value.detach().clone().to("cuda:0") for name, value in model.state_dict().items()}

    @torch.no_grad()
    def update(self, model):
        for name, value in model.state_dict().items():
            self.average[name].mul_(self.decay).add_(value, alpha=1 - self.decay)


def main():
    torch.manual_seed(0)
    first, second = nn.Linear(4, 8).to("cuda:0"), nn.Linear(8, 2).to("cuda:1")
    model = nn.ModuleDict({"first": first, "second": second})
    average = Average(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        second(first(torch.randn(3, 4, device="cuda:0")).to("cuda:1")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        average.update(model)


main()
