# expect: DV114 | gpus: 1 | operands: soft.prompt, vocab | owner: accelerate
"""The table of an offloaded embedding meets a prompt in a function whose kernel without values is Python."""

import torch
from accelerate import cpu_offload
from torch import nn
from torch.nn import functional as F

model = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 4))
cpu_offload(model, execution_device=0)
soft = nn.Module()
soft.prompt = nn.Parameter(torch.randn(3, 4, device="cuda:0"))
vocab = model[0].weight
with torch.no_grad():
    F.cosine_similarity(soft.prompt.unsqueeze(1), vocab.unsqueeze(0), dim=-1)
