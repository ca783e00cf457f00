"""Objects that are replaced wherever a module holds them: ``from torch.cuda import Stream`` may have run before."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from devsan import _core
from devsan.cuda.patches import Patches


def rebind(patches: Patches, replacements: Mapping[int, Any]) -> None:
    """Replaces objects, given by their ``id``, under each name that a module has for them, but for DevSan's own."""
    for module, name in _core.names_of(list(sys.modules.values()), set(replacements)):
        replacement = replacements.get(id(vars(module)[name]))  # None: the module has two names, and had its turn
        if replacement is not None and not module.__name__.startswith("devsan"):
            patches.set(module, name, replacement)
