# expect: DV101 | gpus: 2 | operands: self.numbers, nearest | owner: program
"""A shard brings its rows to its own GPU, and keeps their numbers where the index makes them."""

import torch


class Shard:
    def __init__(self, width, device):
        self.rows = torch.zeros(0, width, device=device)
        self.numbers = torch.zeros(0, dtype=torch.long, device=device)

    def add(self, rows, numbers):
        self.rows = torch.cat([self.rows, rows.to(self.rows.device)])
        self.numbers = numbers if len(self.numbers) == 0 else torch.cat([self.numbers, numbers])

    def nearest(self, query):
        distances = torch.cdist(query[None].to(self.rows.device), self.rows)[0]
        nearest = distances.topk(2, largest=False).indices
        return self.numbers[nearest]


class Index:
    def __init__(self, width, devices):
        self.home = torch.device(devices[0])
        self.shards = [Shard(width, device) for device in devices]

    def add(self, rows):
        numbers = torch.arange(len(rows), device=self.home)
        for number, shard in enumerate(self.shards):
            shard.add(rows[number::2], numbers[number::2])

    def search(self, query):
        return [shard.nearest(query) for shard in self.shards]


def main():
    index = Index(4, ["cuda:0", "cuda:1"])
    index.add(torch.randn(10, 4, device="cuda:0"))
    index.search(torch.randn(4, device="cuda:0"))


main()
