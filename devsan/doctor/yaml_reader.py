"""YAML with the place of every key and value, by PyYAML's own nodes: what accelerate reads its files with."""

from __future__ import annotations

from typing import Any

from devsan.diagnostics.diagnostic import Place
from devsan.diagnostics.messages import message
from devsan.doctor.nodes import MAX_DEPTH, Malformed, Member, Node


def read_yaml(text: str, file: str) -> Node:
    """Returns the value of ``text``.

    Raises:
        Malformed: it is no YAML, or PyYAML is not installed.
    """
    try:
        import yaml
    except ImportError as error:  # it comes with accelerate, transformers and DevSan itself
        raise Malformed(Place(file), message("PyYAML to read YAML"), str(error)) from None

    try:
        loader = yaml.SafeLoader(text)
    except yaml.reader.ReaderError as error:
        raise Malformed(Place(file), message("characters that YAML allows"), f"{error.character!r}") from None
    try:
        node = loader.get_single_node()
        if node is None:
            return Node("scalar", None, Place(file, 1, 1))
        return _Reader(loader, file).node(node, 0)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
        raise Malformed(
            place, "YAML", " ".join(error.problem.split()) if error.problem else message("something else")
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date that is none, brackets without end
        raise Malformed(Place(file), "YAML", " ".join(str(error).split())[:100] or type(error).__name__) from None
    finally:
        loader.dispose()


class _Reader:
    def __init__(self, loader: Any, file: str) -> None:
        self._loader = loader
        self._file = file
        self._made: dict[int, Node] = {}
        self._open: set[int] = set()

    def node(self, node: Any, depth: int) -> Node:
        """Returns the value of a node; an alias gives the value that it stands for, once."""
        place = self._place(node)
        if id(node) in self._open or depth > MAX_DEPTH:
            raise Malformed(place, message("at most {n} levels", n=MAX_DEPTH), message("a value that contains itself"))
        if id(node) not in self._made:
            self._open.add(id(node))
            self._made[id(node)] = self._read(node, place, depth)
            self._open.discard(id(node))
        return self._made[id(node)]

    def _read(self, node: Any, place: Place, depth: int) -> Node:
        if node.id == "scalar":
            return Node("scalar", _plain(self._loader.construct_object(node)), place)
        if node.id == "sequence":
            return Node("list", None, place, elements=tuple(self.node(each, depth + 1) for each in node.value))
        members: dict[str, Member] = {}
        twice = []
        for key, value in node.value:
            name = str(key.value) if key.id == "scalar" else "(a key that is no text)"
            if name in members:
                twice.append((name, self._place(key)))
            members[name] = Member(self._place(key), self.node(value, depth + 1))
        return Node("object", None, place, members, twice=tuple(twice))

    def _place(self, node: Any) -> Place:
        start, end = node.start_mark, node.end_mark
        return Place(self._file, start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (str, int, float)) else str(value)
