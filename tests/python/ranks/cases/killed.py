# expect: DV306 | gpus: 2 | ranks: 1 of 2 | owner: - | fix: kernel's log | waits: 0
"""One rank is killed between two collectives, as the kernel does when the host runs out of memory."""

import os
import signal

import torch
import torch.distributed as dist

rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("cpu:gloo,cuda:gloo")
loss = torch.ones(4, device="cuda")
dist.all_reduce(loss)
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
dist.all_reduce(loss)
