import torch
from torch._utils import ExceptionWrapper

mean = torch.zeros(3, device="cuda:1")


def forward(x):
    return x * mean


def work():  # what torch.nn.parallel.parallel_apply does in each of its threads
    try:
        return forward(torch.ones(3, device="cuda:0"))
    except Exception:
        return ExceptionWrapper(where="in replica 0 on device 0")


work().reraise()
