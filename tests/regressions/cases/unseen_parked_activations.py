# expect: DV101 | gpus: 2 | operands: - | owner: program
"""What layers on two GPUs save for the backward pass is parked on the CPU, and all of it comes back to one GPU."""

import torch
from torch import nn


class Park:
    def __init__(self, device):
        self.device = torch.device(device)

    def pack(self, tensor):
        return tensor.to("cpu") if tensor.is_cuda and not isinstance(tensor, nn.Parameter) else tensor

    def unpack(self, tensor):
        return tensor.to(self.device)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16).to("cuda:0")
        self.last = nn.Linear(16, 5).to("cuda:1")

    def forward(self, x):
        return self.last(torch.tanh(self.first(x)).to("cuda:1"))


torch.manual_seed(0)
net, park = Net(), Park("cuda:0")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    x, labels = torch.rand(4, 8, device="cuda:0"), torch.randint(5, (4,), device="cuda:1")
    with torch.autograd.graph.saved_tensors_hooks(park.pack, park.unpack):
        loss = nn.functional.cross_entropy(net(x), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
