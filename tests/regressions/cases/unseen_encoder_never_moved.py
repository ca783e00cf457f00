# expect: DV103 | gpus: 1 | operands: layers.0.self_attn.in_proj_weight | owner: program
"""nn.TransformerEncoder copies its layer; nothing was moved, and the copies are not to blame."""

import torch
from torch import nn

model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, batch_first=True), 2, enable_nested_tensor=False)
model(torch.randn(2, 3, 8, device="cuda:0")).sum().backward()
