# expect: DV115 | gpus: 2 | operands: index | owner: -
"""cuda() of an ordinal that is not there.

No owner is named: the subject is a number, not a tensor.
"""

import torch


def place(model, index):
    return model.cuda(index)


place(torch.nn.Linear(2, 2), 5)
