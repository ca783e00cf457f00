# expect: DV302 | gpus: 2 | ranks: 0,1 of 2 | owner: - | fix: x.cpu() | severity: warning
"""Results are gathered as objects with tensors of the GPU in them: each rank takes memory on the GPU of the other."""

import os

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
results = [None] * 2
dist.all_gather_object(results, {"rank": rank, "logits": torch.ones(64, 64, device="cuda")})
print([each["rank"] for each in results])
