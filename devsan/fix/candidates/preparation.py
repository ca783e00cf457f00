"""Accelerator.prepare gets the modules and loaders that a program left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.scope import own_nodes
from devsan.fix.source import Source, source_of

_DOUBT = 6


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the call with all that it was not given, then with each of it."""
    on_host = {model["expression"] for model in failure.models if not _is_on_gpu(model)}
    for path in dict.fromkeys(frame["path"] for frame in failure.own_frames) if failure.is_mixed else ():
        source = source_of(path)
        for node in ast.walk(source.tree) if source is not None else ():
            if source is None or not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                continue
            if function_name(node.value) == "prepare" and len(node.targets) == 1:
                left_out = _left_out(source, node, node.value, on_host)
                if len(left_out) > 1:
                    yield _prepared(source, node, left_out, _DOUBT)
                for name in left_out:
                    yield _prepared(source, node, [name], _DOUBT + 1)


def _is_on_gpu(model: Mapping[str, Any]) -> bool:
    return any(tensor["device"].startswith("cuda") for module in model["modules"] for tensor in module["tensors"])


def _left_out(source: Source, node: ast.Assign, call: ast.Call, on_host: set[str]) -> list[str]:
    """The names that were bound before ``call`` to a loader, or to a module on the host.

    A function of the program may make a loader: then its name says so.
    """
    given = {source.segment(each) for each in call.args}
    found: list[str] = []
    for each in own_nodes(source.function_around(node)):
        if isinstance(each, ast.Assign) and each.lineno < node.lineno:
            for name, value in _bound(each):
                is_made = isinstance(value, ast.Call) and "loader" in name.lower()
                wanted = function_name(value) == "DataLoader" or is_made or name in on_host
                if wanted and name not in (*given, *found):
                    found.append(name)
    return found


def _bound(node: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    """Names with what is bound to each: of ``a, b = f(), g()`` too."""
    for target in node.targets:
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value] * len(names)
        yield from ((one.id, value) for one, value in zip(names, values, strict=False) if isinstance(one, ast.Name))


def _prepared(source: Source, node: ast.Assign, names: Sequence[str], doubt: int) -> Change:
    said = ", ".join(names)
    text = message("have accelerate prepare `{name}`, too", name=said)
    target, call = source.segment(node.targets[0]), source.segment(node.value)
    after = f"{target}, {said} = {call[:-1].rstrip().rstrip(',')}, {said})"
    return Change(text, "creation_site", (source.replace(node, after),), doubt=doubt)
