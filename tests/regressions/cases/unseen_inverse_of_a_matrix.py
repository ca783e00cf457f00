# expect: DV103 | gpus: 1 | operands: points, x | owner: program
"""The inverse of a transform is put together in a matrix of the host, into which a tensor of the GPU is copied."""

import torch
import torch.nn.functional as F


class Transform:
    def __init__(self, matrix):
        self.matrix = matrix

    def inverse(self):
        whole = torch.eye(3)
        whole[:2] = self.matrix
        return Transform(torch.linalg.inv(whole)[:2])

    def apply(self, x):
        points = F.affine_grid(self.matrix.expand(len(x), 2, 3), list(x.shape), align_corners=False)
        return F.grid_sample(x, points, align_corners=False)


def main():
    turn = Transform(torch.tensor([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]], device="cuda"))
    x = torch.randn(2, 1, 4, 4, device="cuda")
    turn.inverse().apply(turn.apply(x))


main()
