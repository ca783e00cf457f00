"""The first step of DDP's own mixed precision, on the CPU in one process, without DevSan: torch loses the gradients.

`Reducer::set_mixed_precision_param_dtype` (torch/csrc/distributed/c10d/reducer.cpp) gives each bucket new memory in the
low precision, and leaves the views that gradients are copied into on the old. What is reduced until the buckets are
rebuilt, before the second step, is memory that nothing has filled. Prints for each step whether the bucket has the
gradients.
"""

from __future__ import annotations

import torch
import torch.distributed as dist


def main(steps: int = 3) -> None:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    weight = torch.nn.Parameter(torch.ones(4))
    whole, factors = weight.data, torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.bfloat16)
    limit = 1 << 20  # bytes of a bucket
    reducer = dist.Reducer([weight], [[0]], [limit], dist.group.WORLD, [False], limit, False, False, {0: "w"}, limit)
    reducer._set_mixed_precision_param_dtype(torch.bfloat16)
    reduced: list[torch.Tensor] = []

    def keep(_: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        reduced.append(bucket.buffer().clone())
        done: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        done.set_result(bucket.buffer())
        return done

    dist._register_comm_hook(reducer, None, keep)
    for step in range(steps):  # as torch/nn/parallel/distributed.py goes about it
        reducer._rebuild_buckets()
        reducer.prepare_for_forward()
        weight.data = whole.to(torch.bfloat16)
        accumulated = weight.expand_as(weight).grad_fn.next_functions[0][0]
        hook = accumulated.register_hook(lambda *_: reducer._autograd_hook(0))
        loss = (weight * factors).sum()
        reducer.prepare_for_backward([loss])
        loss.backward()
        hook.remove()
        weight.grad = None
        weight.data = whole
        print(f"step {step}: {'the gradients' if torch.equal(reduced[-1], factors) else 'something else'}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
