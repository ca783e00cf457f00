# expect: DV103 | gpus: 1 | operands: notes, total | owner: program
"""A module fills a dictionary like its buffers when it is made: the move takes the buffers."""

import torch
from torch import nn


class Memory(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.register_buffer("state", torch.zeros(count, 3))
        self.clear()

    def clear(self):
        self.notes = {number: (self.state.new_zeros(1, 3), number) for number in range(len(self.state))}

    def forward(self, numbers):
        notes = []
        for number in numbers.tolist():
            note, _ = self.notes[number]
            notes.append(note)
        notes = torch.cat(notes)
        total = self.state[numbers]
        return total + notes


def main():
    memory = Memory(5).to("cuda")
    memory(torch.tensor([1, 2], device="cuda"))


main()
