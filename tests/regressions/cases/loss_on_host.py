# expect: DV103 | gpus: 1 | operands: output, target | owner: DataLoader
"""The target of the loss stays on the host, the model is on one GPU."""

import torch

model = torch.nn.Linear(4, 3).cuda()


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.randn(4), torch.tensor(index % 3)


train_loader = torch.utils.data.DataLoader(Data(), batch_size=2)
for x, target in train_loader:
    output = model(x.cuda())
    torch.nn.functional.cross_entropy(output, target)
