"""Two stages by hand, with a loss on the last one's GPU, gradients clipped over both."""

import torch

first, last = torch.nn.Linear(4, 4).to("cuda:0"), torch.nn.Linear(4, 2).to("cuda:1")
parameters = [*first.parameters(), *last.parameters()]
optimizer = torch.optim.Adam(parameters)
for _ in range(2):
    logits = last(first(torch.randn(3, 4, device="cuda:0")).to("cuda:1"))
    torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1, 1], device="cuda:1")).backward()
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
    optimizer.zero_grad()
