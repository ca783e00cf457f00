# expect: DV106 | gpus: 1 | operands: values, index | owner: program
"""transformers PR 43177: keys are on the GPU and values still offloaded; one index for both."""

import torch


class OffloadedLayer:
    def __init__(self):
        self.keys = torch.randn(2, 3, device="cuda:0")
        self.values = torch.randn(2, 3).to("cuda:0").to("cpu")

    def reorder_cache(self, beam_idx):
        index = beam_idx.to(self.keys.device)
        self.keys, values = self.keys.index_select(0, index), self.values
        self.values = values.index_select(0, index)


OffloadedLayer().reorder_cache(torch.tensor([1, 0]))
