# expect: DV103 | gpus: 1 | operands: model.bias, x, model.weight | owner: DataLoader
"""ogb 68: the batches of a DataLoader are on the host."""

import torch

model = torch.nn.Linear(4, 2).cuda()
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(8, 4), torch.zeros(8)), batch_size=4)
for x, _ in loader:
    model(x)
