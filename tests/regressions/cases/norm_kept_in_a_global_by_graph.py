# expect: DV113 | gpus: 2 | operands: src, h | owner: program
import torch
from torch import nn

_KEPT = {}


def normalized(name, edges, count):
    if name not in _KEPT:
        loops = torch.arange(count, device=edges.device)
        _KEPT[name] = (torch.cat([edges[0], loops]), torch.cat([edges[1], loops]))
    return _KEPT[name]


class GraphLayer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lin = nn.Linear(width, width)

    def forward(self, x, name, edges):
        src, dst = normalized(name, edges, x.size(0))
        h = self.lin(x)
        return torch.zeros_like(h).index_add_(0, dst, h[src])


class DeepGraph(nn.Module):
    def __init__(self, width, places):
        super().__init__()
        self.places = places
        self.layers = nn.ModuleList([GraphLayer(width).to(place) for place in places])

    def forward(self, x, name, edges):
        for layer, place in zip(self.layers, self.places, strict=True):
            x, edges = x.to(place), edges.to(place)
            x = layer(x, name, edges).relu()
        return x


def main():
    torch.manual_seed(0)
    model = DeepGraph(8, ["cuda:0", "cuda:0", "cuda:1"])
    edges = torch.randint(0, 10, (2, 20))
    print(model(torch.randn(10, 8), "train", edges).sum())


main()
