# expect: DV101 | gpus: 2 | operands: image_features, self.multi_modal_projector.weight | owner: program
"""vLLM 5863: a feature tensor is made on GPU 0 once and handed to the worker of every GPU."""

import torch


class Worker:
    def __init__(self, rank):
        self.device = torch.device(f"cuda:{rank}")
        self.multi_modal_projector = torch.nn.Linear(4, 8, bias=False).to(self.device)

    def execute(self, image_features):
        return self.multi_modal_projector(image_features)


features = torch.randn(1, 3, 4, device="cuda:0")
workers = [Worker(rank) for rank in range(2)]
for worker in workers:
    worker.execute(features)
