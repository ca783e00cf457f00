"""What a request has done in the process of the program, while its emulation runs."""

from __future__ import annotations

import atexit
import os
from collections.abc import Sequence
from functools import partial

from devsan import _core
from devsan.blocks.levers import Levers
from devsan.blocks.meter import Meter
from devsan.blocks.placing import Placing
from devsan.blocks.request import Answer, read_request, write_answer
from devsan.cuda.imports import AfterImport, Change
from devsan.cuda.patches import Patches
from devsan.options import BLOCKS, Options

_patches = Patches()
_imports: AfterImport | None = None


def begin(options: Options) -> None:
    """Does what the request asks for. Needs a running emulation; ``options`` are its own."""
    global _imports
    folder = os.environ.pop(BLOCKS)  # not for its children
    request = read_request(folder)
    levers = Levers(request.batch, request.checkpointing, request.bits)
    meter = Meter(len(options.devices())) if request.is_measured else None
    placing = Placing(request.device_map, request.is_measured)

    def placed(model: object) -> None:
        levers.placed(model)
        if meter is not None:
            meter.watch(model)

    placing.placed = placed
    placing.begin(_patches)
    changes = [placing.changes(_patches), levers.changes(_patches)]  # where both change a module, in this order
    _imports = AfterImport(
        {name: partial(_all_of, [each[name] for each in changes if name in each]) for each in changes for name in each}
    )
    _imports.install()

    def answer() -> None:
        told = {**levers.told(), "whole": placing.whole, "made_whole": placing.made_whole}
        if meter is not None:
            told |= {"model": meter.model, "measured": meter.measured(), "names": meter.names()}
        write_answer(folder, Answer(placing.times, **told))

    atexit.register(answer)


def _all_of(changes: Sequence[Change], module: object) -> None:
    for change in changes:
        change(module)


def end() -> None:
    """Puts back what was changed."""
    if _imports is not None:
        _imports.remove()
    _patches.undo()
    _core.place_on_first(False)
