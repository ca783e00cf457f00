# expect: DV103 | gpus: 2 | ranks: 0,1 of 2 | owner: - | fix: the rank's GPU
"""torchmetrics 2477: with compute_on_cpu the metric's state is on the host when NCCL is to gather it."""

import os

import torch
import torch.distributed as dist


class Metric:
    def __init__(self):
        self.preds = []

    def update(self, preds):
        self.preds.append(preds.cpu())

    def sync(self):
        mine = torch.cat(self.preds)
        gathered = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
        dist.all_gather(gathered, mine)
        return torch.cat(gathered)


torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
metric = Metric()
metric.update(torch.rand(5, device="cuda"))
metric.sync()
