"""DataParallel over two GPUs."""

import torch

model = torch.nn.DataParallel(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)).cuda())
model(torch.randn(8, 4).cuda()).sum().backward()
