import torch


class State:
    def __init__(self):
        self.moments = [torch.ones(4, device="cuda:0"), torch.ones(4, device="cuda:1")]


state = State()
for step in range(2):
    state.moments[0].add_(state.moments[step], alpha=0.5)
