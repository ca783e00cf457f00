"""Keys and values that a model keeps of earlier tokens, marked as such while peaks are watched.

The cache of a generation is gone when the run ends and its names are asked for, so that its memory has to say itself
what it is. All of transformers' caches take keys and values by ``Cache.update``.
"""

from __future__ import annotations

import functools
from typing import Any

from devsan import core
from devsan.cuda.imports import AfterImport
from devsan.cuda.patches import Patches

_MODULE = "transformers.cache_utils"


class Caches:
    """Has what caches keep marked, from now on until `end`."""

    def __init__(self) -> None:
        self._patches = Patches()
        self._imports = AfterImport({_MODULE: self._follow})
        self._imports.install()

    def end(self) -> None:
        """Has nothing marked from now on."""
        self._imports.remove()
        self._patches.undo()

    def _follow(self, module: Any) -> None:
        cache = getattr(module, "Cache", None)
        update = vars(cache).get("update") if isinstance(cache, type) else None
        if update is None:
            return
        import torch  # transformers has loaded it

        @functools.wraps(update)
        def updated(self: Any, *args: Any, **words: Any) -> Any:
            attended = update(self, *args, **words)
            if not torch.compiler.is_compiling():  # what is compiled has no call of the core in its graph
                _mark(self, args, words)
            return attended

        self._patches.set(cache, "update", updated)


def _mark(cache: Any, args: tuple[Any, ...], words: dict[str, Any]) -> None:
    """What fails here changes nothing of the program. ``update`` takes keys, values and the number of the layer."""
    try:
        kept = cache.layers[words["layer_idx"] if "layer_idx" in words else args[2]]
        core.mark_cache(kept.keys)
        core.mark_cache(kept.values)
    except Exception:
        return
