import torch
from accelerate import dispatch_model


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(16, 8)
        self.head = torch.nn.Linear(8, 16)

    def forward(self, ids, labels):
        logits = self.head(self.embed(ids))
        loss = torch.nn.functional.cross_entropy(logits, labels)
        return loss


net = dispatch_model(Net(), {"embed": 0, "head": 1})
net(torch.tensor([1, 2]), labels=torch.tensor([2, 3]))
