from concurrent.futures import ThreadPoolExecutor

import torch

mean = torch.zeros(3, device="cuda:1")


def center(x):
    return x - mean


with ThreadPoolExecutor(1) as pool:
    list(pool.map(center, [torch.ones(3, device="cuda:0")]))
