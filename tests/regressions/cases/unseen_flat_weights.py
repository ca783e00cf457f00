# expect: DV104 | gpus: 2 | operands: - | owner: accelerate
"""The weights of a dispatched model are joined in one vector, for their norm."""

from accelerate import dispatch_model
from torch import nn
from torch.nn.utils import parameters_to_vector

net = dispatch_model(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)), {"0": 0, "1": 1})
parameters_to_vector(p.detach() for p in net.parameters()).norm()
