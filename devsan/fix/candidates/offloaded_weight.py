"""accelerate brings an offloaded weight in where it is read outside of its module's forward."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.origins import assigned
from devsan.fix.placed_model import placed_models
from devsan.fix.source import Source, source_of

_DOUBT = 5
_IMPORT = "from accelerate.utils import align_module_device"


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the statements that read an attribute of a module, each inside of ``align_module_device``."""
    without_values = failure.finding["kind"] == "meta" or any(each["device"] == "meta" for each in failure.operands)
    if not without_values or not any(True for _ in placed_models(failure)):
        return
    for number, frame in enumerate(failure.own_frames):
        source = source_of(frame["path"])
        node = source.expression_at(frame) if source is not None else None
        if source is None or node is None:
            continue
        for read, statement in _reads(source, node):
            edit = source.inside(statement, f"with align_module_device({source.segment(read.value)})")
            if edit is not None:
                text = message("have accelerate bring in `{name}` where it is read", name=source.segment(read))
                edits = (
                    (edit,) if _IMPORT in source.text else (source.insert_after(source.last_import, [_IMPORT]), edit)
                )
                yield Change(text, "use_site", edits, doubt=_DOUBT + number)


def _reads(source: Source, node: ast.expr) -> Iterator[tuple[ast.Attribute, ast.stmt]]:
    """The attributes in an expression, and those that its names were assigned, with their statements."""
    for each in ast.walk(node):
        found = assigned(source, each) if isinstance(each, ast.Name) else None
        value, statement = found or (each, source.statement_around(node))
        called = source.parents.get(value)
        if isinstance(value, ast.Attribute) and not (isinstance(called, ast.Call) and called.func is value):
            yield value, statement
