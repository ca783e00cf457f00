"""Values of a configuration file, each with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from devsan.diagnostics.diagnostic import Place
from devsan.diagnostics.messages import message

MAX_DEPTH = 100
"""Of objects in objects. Configurations have about five; a file that was made to exhaust the stack has thousands."""

LAST_COMMA = message("a comma after the last entry")


class Malformed(Exception):
    """A file that is not what it should be.

    Args:
        place: where reading stopped.
        expected: what would have been right there.
        got: what stands there.
        fix: what to do, where that is more than to write what was expected.
    """

    def __init__(self, place: Place, expected: str, got: str, fix: str = "") -> None:
        super().__init__(f"expected {expected}, got {got}")
        self.place = place
        self.expected = expected
        self.got = got
        self.fix = fix


@dataclass(frozen=True)
class Quirk:
    """What one of the readers of a file takes and another does not."""

    place: Place
    what: str


@dataclass(frozen=True)
class Node:
    """A value.

    Attributes:
        kind: which of the other fields holds it.
        value: of a scalar: a text, a number, a bool or None.
        place: from its first to its last character.
        members: of an object; of a key that is given twice, the last one.
        elements: of a list.
        twice: keys that an earlier member has, too.
    """

    kind: Literal["object", "list", "scalar"]
    value: Any
    place: Place
    members: Mapping[str, Member] = field(default_factory=dict)
    elements: tuple[Node, ...] = ()
    twice: tuple[tuple[str, Place], ...] = ()

    def at(self, path: str) -> Member | None:
        """Returns the member that "zero_optimization.offload_param.device" leads to, or None."""
        node, found = self, None
        for name in path.split("."):
            found = node.members.get(name)
            if found is None:
                return None
            node = found.node
        return found

    def written(self) -> str:
        """Returns the value as a sentence may quote it: a scalar as JSON, anything else by its kind."""
        if self.kind != "scalar":
            return "{...}" if self.kind == "object" else "[...]"
        if isinstance(self.value, str):
            return f'"{self.value}"' if len(self.value) < 60 else f'"{self.value[:56]}..."'
        if self.value is None or isinstance(self.value, bool):
            return {None: "null", True: "true", False: "false"}[self.value]
        return f"{self.value:g}" if isinstance(self.value, float) else _cut(str(self.value))

    def all_twice(self) -> Iterator[tuple[str, Place]]:
        """Yields the keys that are given twice, here and below."""
        seen: set[int] = set()  # of a YAML file, an alias is the node that it stands for
        rest = [self]
        while rest:
            node = rest.pop(0)
            if id(node) in seen:
                continue
            seen.add(id(node))
            yield from node.twice
            rest += [*(member.node for member in node.members.values()), *node.elements]


@dataclass(frozen=True)
class Member:
    """A key's place and its value."""

    place: Place
    node: Node


def _cut(digits: str) -> str:
    return digits if len(digits) < 40 else f"{digits[:36]}..."
