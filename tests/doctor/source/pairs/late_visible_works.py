# expect: clean | gpus: 2
"""The GPU is chosen by the environment, from an option."""

import argparse
import os

import torch
from torch import nn


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu", default="0")
    return parser.parse_args([])


def main():
    args = parse()
    os.environ["CUDA_VISIBLE_DEVICES"] = args.gpu
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(4, 2).to(device)
    print(model(torch.randn(2, 4, device=device)).shape)


main()
