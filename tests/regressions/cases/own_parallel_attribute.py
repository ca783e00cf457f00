# expect: DV108 | gpus: 2 | operands: x, self.bias_table | owner: program
"""DataParallel copies parameters and buffers to its replicas; a plain attribute stays on GPU 0."""

import torch


class Biased(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
        self.bias_table = torch.zeros(4, device="cuda:0")

    def forward(self, x):
        x = self.lin(x)
        return x + self.bias_table


model = torch.nn.DataParallel(Biased().to("cuda:0"), device_ids=[0, 1])
model(torch.randn(4, 4, device="cuda:0"))
