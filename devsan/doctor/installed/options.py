"""The options of an installed command, as the parser in its source takes them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devsan.doctor.installed.module import Module

_ADD = "add_argument"


@dataclass(frozen=True)
class Option:
    """An option.

    Attributes:
        names: of it, without dashes, with underscores.
        type: "int", "float", or "" for any text.
        choices: the values that it takes; none where it may take any.
    """

    names: tuple[str, ...]
    type: str
    choices: tuple[str, ...]

    def refuses(self, value: str) -> bool:
        """Returns whether the parser stops at ``value``."""
        if self.type:
            return not is_number(value, self.type)
        return bool(self.choices) and value not in self.choices


def is_number(value: str, kind: str = "int") -> bool:
    """Returns whether Python reads ``value`` as one of ``kind``, "int" or "float"."""
    try:
        int(value) if kind == "int" else float(value)
    except ValueError:
        return False
    return True


def options_of(module: Module) -> tuple[Option, ...]:
    """Returns the options that ``module`` adds to its parser."""
    return tuple(_options(module))


def takes_abbreviations(module: Module) -> bool:
    """Returns whether the parser of ``module`` takes abbreviated names, as argparse does by default."""
    keywords = (each for node in ast.walk(module.tree) if isinstance(node, ast.Call) for each in node.keywords)
    return not any(
        each.arg == "allow_abbrev" and isinstance(each.value, ast.Constant) and each.value.value is False
        for each in keywords
    )


def options_named(options: tuple[Option, ...], name: str, may_abbreviate: bool) -> list[Option]:
    """Returns the options that argparse may take ``name`` for: more than one if it is the beginning of several."""
    exact = [option for option in options if name in option.names]
    if exact or not may_abbreviate:
        return exact
    return [option for option in options if any(each.startswith(name) for each in option.names)]


def compared(module: Module, function: str, name: str) -> frozenset[str]:
    """Returns the texts that ``function`` compares its argument ``name`` with."""
    defined = [node for node in module.statements if isinstance(node, ast.FunctionDef) and node.name == function]
    return frozenset(
        each.value
        for node in defined
        for test in ast.walk(node)
        if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == name
        for each in test.comparators
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    )


def _options(module: Module) -> Iterator[Option]:
    for node in ast.walk(module.tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == _ADD):
            continue
        words = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        names = tuple(word.lstrip("-").replace("-", "_") for word in words if word.startswith("-"))
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if not names or "nargs" in given:
            continue
        kind = given.get("type")
        is_number = isinstance(kind, ast.Name) and kind.id in ("int", "float")
        yield Option(names, kind.id if is_number else "", _texts(given.get("choices")))  # type: ignore[union-attr]


def _texts(node: ast.expr | None) -> tuple[str, ...]:
    """The texts of a list; none where one of them is not known."""
    listed = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    found = [each.value for each in listed if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return tuple(found) if len(found) == len(listed) else ()
