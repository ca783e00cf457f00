import torch


class Weighted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)
        self.weights = torch.tensor([1.0, 2.0, 3.0])

    def forward(self, x):
        return self.layer(x) * self.weights


model = Weighted().to("cuda:0")
model(torch.ones(2, 4, device="cuda:0"))
