"""A batch class of the user's moves all of its tensors: its ``to`` is written, or gets the field that it forgot.

Loops call ``to``, and so do accelerate, transformers and Lightning for what a loader gives, where there is one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from devsan.diagnostics.diagnostic import Edit
from devsan.diagnostics.messages import message
from devsan.fix.calls import moved, own_attribute
from devsan.fix.candidates import batch
from devsan.fix.change import Change
from devsan.fix.dependence import arguments_behind
from devsan.fix.failure import Failure
from devsan.fix.origins import operand_at
from devsan.fix.source import Source, source_of

_DOUBT = 4
_LOOP = 1  # with the line that calls it


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the method with the field, or the method and its call at the start of a loop."""
    for field in _fields(failure) if failure.is_mixed else ():
        for path in failure.own_paths:
            source = source_of(path)
            for kind in (node for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef)) if source else ():
                if source is not None and field in _attributes(kind):
                    yield from _of_class(failure, source, kind, field)


def _fields(failure: Failure) -> list[str]:
    """The attributes that the operands of the host come from: "mask" of ``batch.mask``."""
    found: list[str] = []
    frames = failure.own_frames
    for operand in failure.operands if frames else ():
        source = source_of(frames[0]["path"])
        node = operand_at(source, frames[0], operand) if source is not None else None
        nodes: list[ast.expr] = [node] if node is not None else []
        for number in range(1, len(frames)):
            nodes += arguments_behind(failure, operand, number) or ()
        if operand["device"] == "cpu":
            inside = (each for node in nodes for each in ast.walk(node))
            found += [each.attr for each in inside if isinstance(each, ast.Attribute) and each.attr not in found]
    return found


def _attributes(kind: ast.ClassDef) -> set[str]:
    """The attributes of an object that is no module: what its fields and its ``__init__`` name."""
    if any("Module" in ast.unparse(base) for base in kind.bases):
        return set()
    found = {
        each.target.id for each in kind.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    for node in ast.walk(kind):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and own_attribute(node):
            found.add(node.attr)
    return found


def _of_class(failure: Failure, source: Source, kind: ast.ClassDef, field: str) -> Iterator[Change]:
    method = next((each for each in kind.body if isinstance(each, ast.FunctionDef) and each.name == "to"), None)
    if method is not None:
        kept = _kept_parts(source, method, field)
        if kept is not None:
            text = message("have `{name}.to` keep what it moves", name=kind.name)
            yield Change(text, "use_site", (kept,), doubt=_DOUBT)
            return
        edits = _completed(source, method, field)
        if edits:
            text = message("have `{name}.to` move `{field}`, too", name=kind.name, field=field)
            yield Change(text, "use_site", tuple(edits), doubt=_DOUBT)
    elif not kind.bases:
        text = message("give `{name}` a method `to` that moves its tensors", name=kind.name)
        edit = source.insert_after(kind.body[-1], ["", *_method(kind)])
        yield Change(text, "use_site", (edit,), doubt=_DOUBT)
        for change in batch.propose(failure):
            added = [each for each in change.edits if each.place.path == source.path]
            if added and ".to(" in change.edits[0].after and "items()" not in change.edits[0].after:
                text = message("{change}, and give `{name}` a method `to` that moves its tensors", change=change.text,
                               name=kind.name)  # fmt: skip
                yield replace(change, text=text, edits=(edit, *change.edits), doubt=_DOUBT + _LOOP)


def _method(kind: ast.ClassDef) -> Sequence[str]:
    """In place; a frozen dataclass is made anew."""
    of_tensors = '{name: each.to(device) for name, each in vars(self).items() if hasattr(each, "to")}'
    if any("frozen=True" in ast.unparse(each) for each in kind.decorator_list):
        return ("def to(self, device):", f"    return type(self)(**{{**vars(self), **{of_tensors}}})")
    return ("def to(self, device):", f"    vars(self).update({of_tensors})", "    return self")


def _kept_parts(source: Source, method: ast.FunctionDef, field: str) -> Edit | None:
    """The parts that a loop moves by giving its variable a new value, each moved by name; None where none does so."""
    for loop in (each for each in ast.walk(method) if isinstance(each, ast.For) and len(each.body) == 1):
        call = loop.body[0].value if isinstance(loop.body[0], ast.Assign) else None
        receiver = moved(call)
        parts = [own_attribute(each) for each in loop.iter.elts] if isinstance(loop.iter, (ast.Tuple, ast.List)) else []
        same = isinstance(receiver, ast.Name) and isinstance(loop.target, ast.Name) and receiver.id == loop.target.id
        if call is not None and receiver is not None and same and field in parts and all(parts):
            behind = source.segment(call)[len(source.segment(receiver)) :]
            lines = [f"self.{part} = self.{part}{behind}" for part in parts]
            return source.replace(loop, f"\n{' ' * loop.col_offset}".join(lines))
    return None


def _completed(source: Source, method: ast.FunctionDef, field: str) -> list[Edit]:
    """``to`` with the move of ``field``; none where it moves it, or where nothing says how."""
    device = next((each.arg for each in method.args.args if each.arg != "self"), "")
    read = [
        node for node in ast.walk(method)
        if own_attribute(node) == field and isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    ]  # fmt: skip
    if not device or any(moved(source.parents.get(source.parents[node])) is node for node in read):
        return []
    last = method.body[-1]
    if not read and isinstance(last, ast.Return) and isinstance(last.value, ast.Name) and last.value.id == "self":
        return [source.insert_before(last, [f"self.{field} = self.{field}.to({device})"])]
    return [source.replace(node, f"self.{field}.to({device})") for node in read]
