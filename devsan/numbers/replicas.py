"""DataParallel's replicas, one after the other: each has a thread, and what they draw would be drawn in any order."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any

_LONGEST = 60.0  # seconds: a replica that is given no tensor never computes


def take_turns() -> None:
    """Has the replicas of torch.nn.DataParallel compute in their order."""
    module = sys.modules["torch.nn.parallel.data_parallel"]  # torch.nn.parallel has a function of this name
    together = module.parallel_apply

    def parallel_apply(modules: Sequence[Any], *args: Any, **named: Any) -> Any:
        done = threading.Condition()
        next_one = 0

        def in_turn(place: int, module: Any) -> Any:
            def forward(*inputs: Any, **more: Any) -> Any:
                nonlocal next_one
                with done:
                    done.wait_for(lambda: next_one >= place, _LONGEST)
                try:
                    return module(*inputs, **more)
                finally:
                    with done:
                        next_one += 1
                        done.notify_all()

            return forward

        if len(modules) < 2:
            return together(modules, *args, **named)
        return together([in_turn(place, module) for place, module in enumerate(modules)], *args, **named)

    module.parallel_apply = parallel_apply  # type: ignore[attr-defined]
