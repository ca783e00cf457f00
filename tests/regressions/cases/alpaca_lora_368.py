# expect: DV112 | gpus: 1 | operands: weight | owner: -
"""A model of shapes only is moved.

No owner is named: nobody placed the parameter.
"""

import torch

with torch.device("meta"):
    model = torch.nn.Linear(4, 4)
model.to("cuda")
