import torch
from torch import nn

attention = nn.MultiheadAttention(4, 2).to("cuda:1")
attention.out_proj.to("cuda:0")
x = torch.ones(3, 4, device="cuda:1")
attention(x, x, x)
