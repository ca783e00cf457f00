# expect: DV101 | gpus: 2 | operands: ids.to(device), table.weight | owner: -
"""Tables are made on the GPUs that were chosen for them; a move of the whole model brings all of them to one."""

import torch
from torch import nn


class Tables(nn.Module):
    def __init__(self, sizes, devices):
        super().__init__()
        self.chosen = [devices[number % len(devices)] for number, _ in enumerate(sizes)]
        pairs = zip(sizes, self.chosen, strict=True)
        self.tables = nn.ModuleList(nn.Embedding(size, 8, device=device) for size, device in pairs)

    def forward(self, columns):
        found = []
        for table, device, ids in zip(self.tables, self.chosen, columns, strict=True):
            found.append(table(ids.to(device)).to("cuda:0"))
        return torch.cat(found, -1)


class Ranker(nn.Module):
    def __init__(self, sizes, devices):
        super().__init__()
        self.tables, self.top = Tables(sizes, devices), nn.Linear(8 * len(sizes), 1)

    def forward(self, columns):
        return self.top(self.tables(columns))


torch.manual_seed(0)
sizes = [50, 20, 30]
model = Ranker(sizes, [torch.device("cuda", index) for index in range(2)])
model.to("cuda:0")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    loss = model([torch.randint(size, (4,)) for size in sizes]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
