"""DevSan's core as the rest of DevSan uses it: ``core.Event``, ``core.diagnose(facts)``.

The library, ``devsan._core``, is looked for when a name is used: it needs torch, which may not be loaded yet, or not be
the one that the library was built for. Where that is not known, ``is_here`` is asked first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from devsan.core_library import core_here

if TYPE_CHECKING:
    from devsan._core import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        library = None if name.startswith("__") else core_here()
        if library is None:
            raise AttributeError(f"expected DevSan's core, for its {name}, got none for the torch that is here")
        found = globals()[name] = getattr(library, name)
        return found


def is_here() -> bool:
    """Returns whether the core is there for the torch that is loaded. Does not import torch."""
    return core_here() is not None
