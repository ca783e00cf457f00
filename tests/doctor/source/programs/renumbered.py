"""CUDA_VISIBLE_DEVICES leaves two GPUs, which the program numbers anew."""

import os

import torch

os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"
first, second = (torch.zeros(4, device=f"cuda:{number}") for number in range(torch.cuda.device_count()))
third = torch.zeros(4, device="cuda:2")  # DV406
try:
    fourth = torch.zeros(4, device="cuda:3")
except RuntimeError:
    fourth = None
total = first + second.to("cuda:0")


def elsewhere():
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"
    return torch.zeros(4).to("cuda:1")
