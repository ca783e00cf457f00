"""What takes the place of a module's tensor goes to where that was."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name
from devsan.fix.change import COPIES, Change
from devsan.fix.failure import Failure, is_own
from devsan.fix.source import Source, source_of

_DOUBT = 4
_ASSIGNED = "DV113"  # a result was assigned to it


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the statement that replaced an operand, with the new tensor on the old one's device, or copied into it."""
    code = _ASSIGNED if failure.finding["code"] == _ASSIGNED else "DV105"
    for operand in failure.operands:
        frame = operand["replaced_at"]
        source = source_of(frame["path"]) if frame is not None and is_own(frame["path"]) else None
        node = _statement_at(source, frame["line"]) if source is not None else None
        if source is None or node is None:
            continue
        copied = list(_copied(source, node))
        call = node.value if isinstance(node, ast.Expr) else None
        if not copied and isinstance(node, ast.Assign):
            yield _on_its_device(source, code, source.segment(node.targets[0]), node.value)
        elif isinstance(call, ast.Call) and function_name(call) == "setattr" and len(call.args) == 3:
            holder, name, value = call.args
            yield _on_its_device(source, code, f"getattr({source.segment(holder)}, {source.segment(name)})", value)
        yield from copied


def _statement_at(source: Source, line: int) -> ast.stmt | None:
    found = [each for each in ast.walk(source.tree) if isinstance(each, ast.stmt) and each.lineno == line]
    return found[-1] if found else None


def _on_its_device(source: Source, code: str, target: str, value: ast.expr) -> Change:
    """``self.mean = data.mean(0)`` as ``self.mean = data.mean(0).to(self.mean.device)``; inside of a new Parameter."""
    if isinstance(value, ast.Call) and source.segment(value.func).endswith("Parameter") and value.args:
        value = value.args[0]
    text = source.segment(value)
    whole = text if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) else f"({text})"
    said = message("put the new `{name}` on the device of the one that it replaces", name=target)
    edits = (source.replace(value, f"{whole}.to({target}.device)"),)
    shares = target.endswith(".data")  # with what it is given, which the training would change, too
    return Change(said, "creation_site", edits, code, _DOUBT, alters=COPIES if shares else "")


def _copied(source: Source, statement: ast.stmt) -> Iterator[Change]:
    """``model.load_state_dict(state, assign=True)`` without the assignment."""
    for call in ast.walk(statement):
        if not isinstance(call, ast.Call) or not any(each.arg == "assign" for each in call.keywords):
            continue
        kept = [source.segment(each) for each in call.args]
        kept += [source.segment(each) for each in call.keywords if each.arg != "assign"]
        after = f"{source.segment(call.func)}({', '.join(kept)})"
        text = message("copy what is loaded into the model's own weights, with no `assign=True`")
        yield Change(text, "creation_site", (source.replace(call, after),), "DV105", _DOUBT)
