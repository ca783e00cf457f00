# expect: DV101 | gpus: 2 | operands: h0, x | owner: program
"""DataParallel: forward makes its first state on the one device that the options say."""

import argparse

import torch
from torch import nn

opt = argparse.Namespace(device="cuda:0", hidden=6)


class Net(nn.Module):
    def __init__(self, opt):
        super().__init__()
        self.opt = opt
        self.gru = nn.GRU(5, opt.hidden, batch_first=True)
        self.fc = nn.Linear(opt.hidden, 3)

    def forward(self, x):
        h0 = torch.zeros(1, x.size(0), self.opt.hidden).to(self.opt.device)
        out, _ = self.gru(x, h0)
        return self.fc(out[:, -1])


net = nn.DataParallel(Net(opt).to(opt.device))
print(net(torch.randn(4, 7, 5).to(opt.device)).shape)
