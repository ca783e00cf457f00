# expect: DV101 | gpus: 2 | operands: ids, table.weight | owner: program
"""Tables are placed by their size, and what is looked up in them is sent around in turn."""

import torch
from torch import nn

ROWS = {"user": 50, "item": 4000, "city": 900}
GPUS = ["cuda:0", "cuda:1"]


def by_size(rows):
    load, home = dict.fromkeys(GPUS, 0), {}
    for name in sorted(rows, key=rows.get, reverse=True):
        home[name] = min(load, key=load.get)
        load[home[name]] += rows[name]
    return home


class Tables(nn.Module):
    def __init__(self, rows, home):
        super().__init__()
        self.tables = nn.ModuleDict({name: nn.Embedding(rows[name], 8).to(home[name]) for name in rows})

    def forward(self, batch):
        found = []
        for name, table in self.tables.items():
            ids = batch[name]
            found.append(table(ids).to("cuda:0"))
        return torch.cat(found, dim=1)


class Sender:
    def __init__(self, names):
        self.route = {name: GPUS[place % len(GPUS)] for place, name in enumerate(names)}

    def __call__(self, batch):
        return {name: ids.to(self.route[name]) for name, ids in batch.items()}


tables, send = Tables(ROWS, by_size(ROWS)), Sender(ROWS)
tables(send({name: torch.randint(0, rows, (16,)) for name, rows in ROWS.items()})).sum().backward()
