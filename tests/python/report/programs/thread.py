from concurrent.futures import ThreadPoolExecutor

import torch

mean = torch.zeros(3, device="cuda:1")


def centre(x):
    return x - mean


with ThreadPoolExecutor(1) as pool:
    list(pool.map(centre, [torch.ones(3, device="cuda:0")]))
