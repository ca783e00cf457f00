# expect: DV101 | gpus: 2 | operands: self.rows, chosen | owner: program
"""A buffer's priorities are converted with `to(errors)`, which takes them to the learner's GPU as well."""

import torch


class Replay:
    def __init__(self, device):
        self.rows = torch.zeros(8, 3, device=device)
        self.priority = torch.ones(8, dtype=torch.float64, device=device)

    def sample(self):
        chosen = torch.multinomial(self.priority, 4, replacement=True)
        return chosen, self.rows[chosen]

    def update(self, chosen, errors):
        self.priority = self.priority.to(errors).index_copy(0, chosen.to(errors.device), errors)


learner = torch.nn.Linear(3, 1).to("cuda:1")
replay = Replay("cuda:0")
for _ in range(2):
    chosen, rows = replay.sample()
    replay.update(chosen, learner(rows.to("cuda:1")).detach().abs().squeeze(1))
