"""What experiments teach about changes that were not tried yet.

A program that breaks because a value has no ``to`` or no ``device`` says that the value is no tensor: no change that
moves it, or goes to where it is, can help. A change that broke the program breaks it again further on in the chain.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from devsan.diagnostics.diagnostic import Edit
from devsan.fix.change import Change
from devsan.fix.source import source_of

_NO_TENSOR = re.compile(r"AttributeError: .* has no attribute '(to|device|parameters)'")
_MOVE = re.compile(r"\.to\((?P<device>.+?)\.device\)")


@dataclass
class Lessons:
    """What the trials of one search have taught."""

    _broken: set[object] = field(default_factory=set)
    _tried: set[object] = field(default_factory=set)
    _no_tensors: set[tuple[str, str, str]] = field(default_factory=set)

    def learn(self, change: Change, status: str, error: str) -> None:
        """Takes in what came of ``change``, the last one of a trial.

        Args:
            change: what was tried.
            status: of the trial, as ``search.Trial`` has it.
            error: the last line that the program wrote.
        """
        if status == "same":
            self._tried.add(_key(change))
        if status == "failed":
            self._broken.add(_key(change))
            found = _NO_TENSOR.search(error)
            for edit in change.edits if found is not None else ():
                assert found is not None
                self._no_tensors |= {each for each in _expressions(edit) if (each[2] == "moved") == (found[1] == "to")}

    def is_hopeless(self, change: Change) -> bool:
        """Returns whether the trials so far say that ``change`` breaks the program."""
        if _key(change) in self._broken:
            return True
        return any(each in self._no_tensors for edit in change.edits for each in _expressions(edit))

    def was_in_vain(self, change: Change) -> bool:
        """Returns whether ``change`` left an earlier failure of the chain as it was."""
        return _key(change) in self._tried


def _key(change: Change) -> object:
    return tuple((edit.place.path or edit.place.file, edit.before, edit.after) for edit in change.edits)


def _expressions(edit: Edit) -> list[tuple[str, str, str]]:
    """What an edit moves, and whose device it goes to, each with the function that it stands in."""
    move = _MOVE.search(edit.after)
    found = [(edit.before, "moved")] if edit.before and edit.after.startswith(f"{edit.before}.to(") else []
    found += [(move["device"], "asked")] if move is not None else []
    return [(f"{edit.place.path}:{_function(edit)}", text, role) for text, role in found]


def _function(edit: Edit) -> str:
    source = source_of(edit.place.path)
    inside = [
        node for node in ast.walk(source.tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.lineno <= edit.place.line <= (node.end_lineno or node.lineno)
    ] if source is not None else []  # fmt: skip
    return max(inside, key=lambda node: node.lineno).name if inside else ""
