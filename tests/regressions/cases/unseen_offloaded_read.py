# expect: DV114 | gpus: 1 | operands: model[1].weight | owner: accelerate
"""The weight of an offloaded layer is read beside its forward."""

from accelerate import cpu_offload
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
cpu_offload(model, execution_device=0)
model[1].weight.detach().to("cuda:0")
