"""torch's global hooks around each step of any optimizer. What torch.compile compiles has no trace of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

Watcher = Callable[[Any], None]
"""Is given the optimizer."""


def watch_steps(before: Watcher | None = None, after: Watcher | None = None) -> Callable[[], None] | None:
    """Has steps watched from now on.

    Args:
        before: called before each step.
        after: called after each step that did not fail.

    Returns:
        What takes the watchers away again; None where torch.optim is not loaded, and nothing is watched.
    """
    optimizer: Any = sys.modules.get("torch.optim.optimizer")
    if not hasattr(optimizer, "register_optimizer_step_pre_hook"):
        return None
    is_compiling: Callable[[], bool] = sys.modules["torch"].compiler.is_compiling

    def hook(watcher: Watcher) -> Callable[[Any, Any, Any], None]:
        def called(optimizer: Any, arguments: Any, keywords: Any) -> None:
            if not is_compiling():  # dynamo knows the answer, and leaves out the rest
                watcher(optimizer)

        return called

    handles = []
    if before is not None:
        handles.append(optimizer.register_optimizer_step_pre_hook(hook(before)))
    if after is not None:
        handles.append(optimizer.register_optimizer_step_post_hook(hook(after)))

    def undo() -> None:
        for handle in handles:
            handle.remove()

    return undo
