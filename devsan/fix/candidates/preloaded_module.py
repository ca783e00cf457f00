"""accelerate loads a module as a whole that computes with the weights of a child and does not call it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, keyword, with_keyword
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.source import source_of

_DOUBT = 4
_OFFLOADING = frozenset({"cpu_offload", "disk_offload", "dispatch_model", "load_checkpoint_and_dispatch"})
_NAME = "preload_module_classes"


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the calls that offload, with the class of the module that was in its forward."""
    kinds = list(dict.fromkeys(_readers(failure)))
    for path in failure.own_paths if kinds else ():
        source = source_of(path)
        for call in ast.walk(source.tree) if source is not None else ():
            if not isinstance(call, ast.Call) or function_name(call) not in _OFFLOADING or keyword(call, _NAME):
                continue
            assert source is not None
            for kind in kinds:
                after = with_keyword(source, call, _NAME, f'["{kind}"]')
                text = message("have `{name}` load each {kind} as a whole", name=function_name(call), kind=kind)
                yield Change(text, "configuration", (source.replace(call, after),), doubt=_DOUBT)


def _readers(failure: Failure) -> Iterator[str]:
    """The classes of modules whose weights a hook has brought, and those of a child not; the innermost first."""
    for model in failure.models:
        offloaded = [each for each in model["modules"] if any(hook["offload"] for hook in each["hooks"])]
        for module in reversed(offloaded):
            inside = f"{module['path']}." if module["path"] else ""
            below = [each for each in offloaded if each is not module and each["path"].startswith(inside)]
            if _is_on(module, "cuda") and any(_is_on(each, "meta") for each in below):
                yield module["type"]


def _is_on(module: Mapping[str, Any], device: str) -> bool:
    return any(tensor["device"].startswith(device) for tensor in module["tensors"])
