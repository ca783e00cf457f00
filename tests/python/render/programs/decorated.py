import functools

import torch


def logged(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


matmul = logged(torch.mm)
left = torch.ones(3, 4, device="cuda:1")
matmul(left, mat2=torch.ones(4, 5, device="cuda:2"))
