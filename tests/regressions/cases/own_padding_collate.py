# expect: DV102 | gpus: 1 | operands: sequence, torch.zeros(length - len(sequence)) | owner: program
"""Padding is made beside the sequence and without its device."""

import torch


def pad(sequences):
    length = max(len(sequence) for sequence in sequences)
    return torch.stack([torch.cat([sequence, torch.zeros(length - len(sequence))]) for sequence in sequences])


pad([torch.ones(3, device="cuda:0"), torch.ones(2, device="cuda:0")])
