"""Where code of a failure stands: in a frame that lives, or called from one, and the places around it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from devsan import core
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.only_calls import only_call
from devsan.introspect.frames.places import place_in, place_of, without_machinery
from devsan.introspect.frames.scopes import Spot, spot_of

_DEEPEST = 24  # calls outwards


class Living:
    """The frames of one failure.

    Args:
        frames: of the traceback, outermost first.
    """

    def __init__(self, frames: Sequence[Frame]) -> None:
        self.frames = frames

    def at(self, spot: Spot) -> Spot:
        """Returns the same place in the frame that runs it, where there is one: its variables are known."""
        for number, frame in enumerate(self.frames):
            if (frame.file, frame.function) == (spot.file, spot.function):
                return replace(spot_of(self.frames, number), line=spot.line)
        return spot

    def place(self, node: Any, spot: Spot) -> core.Frame:
        """Returns the place of ``node``, which stands where ``spot`` does."""
        ends = (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
        return place_in(spot.file, spot.function, *ends)

    def stack(self, node: ast.AST, spot: Spot) -> list[core.Frame]:
        """Returns the place of ``node`` and those around it, as a recorded stack would have them: innermost first."""
        places: list[core.Frame] = []
        here = self.place(node, spot)
        while spot.frame is None and len(places) < _DEEPEST:
            found = spot.called_at or only_call(spot)
            if found is None:
                break
            spot = self.at(found[1])
            places.append(self.place(found[0], spot))
        if spot.frame is not None:
            places += [place_of(frame) for frame in reversed(self.frames[: spot.number])]
        return [here, *without_machinery(places)]
