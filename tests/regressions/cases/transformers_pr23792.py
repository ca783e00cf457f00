# expect: DV203 | gpus: 2 | operands: - | owner: -
"""Moving a model with offloaded parts is refused.

No tensor is named: the refusal is about the model as a whole.
"""

import torch
from accelerate import dispatch_model

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
model = dispatch_model(model, {"0": 0, "1": "cpu"}, main_device=0)
model.to("cuda:0")
