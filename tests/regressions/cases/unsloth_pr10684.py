# expect: DV115 | gpus: 2 | operands: input_ids, self.stop_token | owner: program
"""unsloth PR 10684: a stopping criterion holds its token on a hard-coded "cuda"; the model is on another GPU."""

import torch
from transformers import StoppingCriteria, StoppingCriteriaList


class StoppingCriteriaSub(StoppingCriteria):
    def __init__(self, stop_token):
        self.stop_token = torch.tensor([stop_token], device="cuda")

    def __call__(self, input_ids, scores, **kwargs):
        return (input_ids[:, -1] == self.stop_token).all()


criteria = StoppingCriteriaList([StoppingCriteriaSub(2)])
ids = torch.tensor([[1, 2]], device="cuda:1")
for criterion in criteria:
    criterion(ids, None)
