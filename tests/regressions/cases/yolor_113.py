# expect: DV103 | gpus: 1 | operands: output | owner: program
"""A detector's output goes to NumPy in a helper."""

import numpy
import torch


def to_numpy(output):
    return numpy.asarray(output)


to_numpy(torch.zeros(3).cuda())
