# expect: DV103 | gpus: 1 | operands: target | owner: program
"""yolov5 2106: Python numbers and GPU scalars go into one NumPy array."""

import numpy as np
import torch


def output_to_target(output):
    targets = []
    for i, o in enumerate(output):
        for *box, conf, cls in o.cpu().numpy() if False else o:
            targets.append(torch.stack([torch.full_like(conf, i), cls, *box, conf]))
    return np.array([np.asarray(target) for target in targets])


output = [torch.rand(2, 6).to("cuda")]
output_to_target(output)
