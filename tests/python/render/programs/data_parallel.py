import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)).to("cuda:0")
model[1].to("cuda:1")
nn.DataParallel(model, device_ids=[0, 1])(torch.ones(2, 4))
