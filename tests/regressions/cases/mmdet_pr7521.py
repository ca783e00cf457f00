# expect: DV102 | gpus: 1 | operands: boxes, scores | owner: program
"""mmdet 7521: new scores on the host are put beside boxes of the GPU."""

import torch


def bbox2result(boxes):
    scores = torch.zeros(boxes.size(0), 1)
    return torch.cat([boxes, scores], dim=1)


bbox2result(torch.rand(3, 4, device="cuda"))
