# expect: DV203 | gpus: 2 | operands: - | owner: -
"""DDP refuses device_ids for a module on two GPUs.

No tensor is named: DDP refuses the module, and says so of the module.
"""

import torch
import torch.distributed as dist

dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29731", rank=0, world_size=1)
try:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4).to("cuda:0"), torch.nn.Linear(4, 4).to("cuda:1"))
    torch.nn.parallel.DistributedDataParallel(model, device_ids=[0])
finally:
    dist.destroy_process_group()
