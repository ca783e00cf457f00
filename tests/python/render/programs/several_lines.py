import torch

x = torch.ones(3, 4, device="cuda:1")
y = torch.addmm(
    torch.ones(3, 5, device="cuda:1"),
    x.float(),
    torch.ones(4, 5, device="cuda:2"),
    alpha=0.5,
)
