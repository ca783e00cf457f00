# expect: DV106 | gpus: 2 | operands: layer, beam_idx | owner: program
"""Beam search reorders the cache by an index of another GPU."""

import torch


def reorder_cache(past_key_values, beam_idx):
    return tuple(layer.index_select(0, beam_idx) for layer in past_key_values)


past_key_values = (torch.zeros(2, 4, device="cuda:0"), torch.zeros(2, 4, device="cuda:1"))
reorder_cache(past_key_values, torch.tensor([1, 0], device="cuda:0"))
