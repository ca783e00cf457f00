# expect: DV111 | gpus: 1 | operands: generator | owner: -
"""rtfm 47: the default device is CUDA, the sampler of a DataLoader has a CPU generator.

No owner is named: the sampler makes its generator for itself, and no record is kept of generators.
"""

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_device("cuda")
data = TensorDataset(torch.randn(8, 4))
for (batch,) in DataLoader(data, batch_size=2, shuffle=True):
    print(batch.shape)
