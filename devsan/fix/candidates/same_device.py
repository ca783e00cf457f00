"""accelerate's hooks bring what a module returns back to where its inputs were.

Without that a module that lies elsewhere leaves its output there, and whatever the code around it joins with the output
stays behind. It costs a copy a module, and fits any map.
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.placed_model import placed_models

_DOUBT, _BEHIND_USE_SITES = 12, 28  # see NOTE [Doubts]


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the loop over the hooks, behind the call that placed the model."""
    for model in placed_models(failure):
        hooks = [hook["type"] for module in model.facts["modules"] for hook in module["hooks"]]
        if model.loading is None or "AlignDevicesHook" not in hooks:
            continue
        module = model.loading.unused("module")
        edits = model.loading.then((
            f"for {module} in {{model}}.modules():",
            f'    if hasattr({module}, "_hf_hook"):',
            f"        {module}._hf_hook.io_same_device = True",
        ))  # fmt: skip
        text = message("have the hooks of `{model}` bring outputs back to the device of the inputs",
                       model=model.facts["expression"] or model.facts["type"])  # fmt: skip
        yield Change(text, "workaround", edits, doubt=_DOUBT if failure.in_library else _BEHIND_USE_SITES)
