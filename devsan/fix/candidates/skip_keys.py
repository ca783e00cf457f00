"""accelerate's hooks leave a cache of the model's own name where its layers are.

A hook moves the inputs of a module to one device, but those that ``skip_keys`` names; a loader knows the names that
most models have ("past_key_values"), and no other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.placed_model import placed_models
from devsan.fix.source import source_of

_CACHE, _DOUBT = 5, 29  # see NOTE [Doubts]
_MOST = 3
_KV_CACHE = "DV106"


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the names of what a hook moved, one each, behind the call that placed the model."""
    by_hooks = any(event["owner"]["mechanism"] == "AlignDevicesHook" for operand in failure.operands
                   for event in operand["provenance"])  # fmt: skip
    names = list(dict.fromkeys(_names(failure)))[:_MOST] if by_hooks else []
    doubt = _CACHE if failure.finding["code"] == _KV_CACHE else _DOUBT
    for model in placed_models(failure):
        for name in names if model.loading is not None else ():
            assert model.loading is not None
            module = model.loading.unused("module")
            edits = model.loading.then((
                f"for {module} in {{model}}.modules():",
                f'    if hasattr({module}, "_hf_hook"):',
                f'        {module}._hf_hook.skip_keys = [*({module}._hf_hook.skip_keys or ()), "{name}"]',
            ))  # fmt: skip
            yield Change(
                message("have the hooks leave `{name}` where it is", name=name), "workaround", edits, doubt=doubt
            )


def _names(failure: Failure) -> Iterator[str]:
    """Keywords of the calls from the user's files into the model, and then roots of the operands' names."""
    for frame in failure.own_frames:
        source = source_of(frame["path"])
        call = source.expression_at(frame) if source is not None else None
        for keyword in call.keywords if isinstance(call, ast.Call) else ():
            if keyword.arg and not isinstance(keyword.value, ast.Constant):
                yield keyword.arg
    for operand in failure.operands:
        root = operand["name"].partition("[")[0].partition(".")[0]
        if root.isidentifier() and root != "self":
            yield root
