import torch

layer = torch.nn.Linear(4, 2).to("cuda:0")
batch = torch.ones(3, 4)
batch.to("cuda:0")
layer(batch)
