# expect: DV103 | gpus: 1 | operands: self.mrope_cache, mrope_cos_sin | owner: program
"""TensorRT-LLM PR 16537: multimodal data is moved by a list of key paths, and one key is not in it."""

import torch

MOVED = ("image.pixel_values",)


def to_device(data, paths, device):
    for path in paths:
        holder, key = path.split(".")
        data[holder][key] = data[holder][key].to(device)
    return data


class Engine:
    def __init__(self):
        self.mrope_cache = torch.zeros(4, 6, device="cuda:0")

    def prepare(self, data, slots):
        data = to_device(data, MOVED, "cuda:0")
        mrope_cos_sin = data["mrope_config"]["cos_sin"]
        self.mrope_cache.index_copy_(0, slots, mrope_cos_sin)


data = {"image": {"pixel_values": torch.randn(1, 3)}, "mrope_config": {"cos_sin": torch.randn(2, 6)}}
Engine().prepare(data, torch.tensor([0, 2], device="cuda:0"))
