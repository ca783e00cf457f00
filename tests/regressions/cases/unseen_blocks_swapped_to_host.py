# expect: DV103 | gpus: 2 | operands: keys, self.keys[layer] | owner: program
"""A paged cache gives the blocks of a request to the host, and takes them back as they are there."""

import torch

DEVICES = ["cuda:0", "cuda:1"]


class PagedCache:
    def __init__(self, blocks):
        self.keys = [torch.zeros(blocks, 4, 8, device=device) for device in DEVICES]

    def write(self, layer, table, position, keys):
        self.keys[layer][table[position // 4], position % 4] = keys

    def swap_out(self, table):
        return [keys[table].cpu() for keys in self.keys]

    def swap_in(self, table, saved):
        for layer, keys in enumerate(saved):
            place = torch.tensor(table, device=DEVICES[layer])
            self.keys[layer].index_copy_(0, place, keys)


@torch.no_grad()
def main():
    torch.manual_seed(0)
    cache, table = PagedCache(6), [0, 1]
    for position in range(6):
        for layer, device in enumerate(DEVICES):
            cache.write(layer, table, position, torch.randn(8, device=device))
    saved = cache.swap_out(table)
    cache.swap_in([2, 3], saved)
    print([keys.sum().item() for keys in cache.keys])


main()
