"""A process that times work on request: ``worker.py KIND``.

Kinds: plain; devsan; watched, with the check of streams; unwatched, which had that check and ended it; fakegpu.

It reads names of `works.WORKS`, one a line, and answers each with the seconds that one call took, averaged over a
batch. The first request for a name also prepares the work and warms it up. `measure.Worker` is the other end.
"""

from __future__ import annotations

import gc
import os
import sys
import time

THREADS = 1


def start(kind: str) -> None:
    if kind == "fakegpu":
        import fakegpu  # before torch, as it asks for

        fakegpu.init(runtime="fakecuda", profile="a100", device_count=2)
    import torch

    torch.set_num_threads(THREADS)
    if kind == "devsan":
        import devsan

        devsan.emulate(gpus=2).start()
    elif kind in ("watched", "unwatched"):
        import devsan
        from devsan.streams import watch

        devsan.emulate(gpus=2, check="streams").start()
        if kind == "unwatched":
            watch.end()


def serve(answers: int) -> None:
    from works import CALLS, WORKS

    prepared = {}
    for line in sys.stdin:
        name = line.strip()
        calls = CALLS[name.split()[0]]
        if name not in prepared:
            work = prepared[name] = WORKS[name]()
            for _ in range(calls):
                work()
            gc.collect()
            gc.freeze()
            gc.disable()
        work = prepared[name]
        begin = time.perf_counter()
        for _ in range(calls):
            work()
        seconds = (time.perf_counter() - begin) / calls
        gc.collect()
        os.write(answers, f"{seconds!r}\n".encode())


if __name__ == "__main__":
    # What a library prints must not be taken for an answer.
    own = os.dup(1)
    os.dup2(2, 1)
    start(sys.argv[1])
    serve(own)
