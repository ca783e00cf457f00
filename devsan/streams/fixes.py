"""What orders two accesses: a line that is missing, before the later one or behind the earlier one."""

from __future__ import annotations

import ast
import linecache

from devsan import core
from devsan.diagnosis.source import shown_path, whole_path
from devsan.diagnostics.diagnostic import Edit, Fix, Place
from devsan.diagnostics.messages import message
from devsan.introspect.source.sources import functions_in, statements_of, tree_at
from devsan.streams.access import Access, Frames, current_stream, entered_block, frame_of, gpu_tensors, stream_name

_LEAVES = (ast.Return, ast.Raise)  # nothing runs behind them
_NOT_FIRST = ("elif", "else:", "except", "finally:")
_FEW = 3  # names of one statement
_DEFAULT = "torch.cuda.default_stream("
_RECORD = "{tensor}.record_stream({stream})"


def fixes_of(kind: str, earlier: Access, later: Access, freed: Frames) -> tuple[Fix, ...]:
    """Returns what orders ``earlier`` and ``later``, the best first.

    Args:
        kind: "unordered", "freed" or "pinned".
        earlier: the access that comes first in the program.
        later: the one that nothing makes wait for it.
        freed: where the memory was given back, if ``kind`` is "freed".
    """
    named = stream_name(earlier)
    block, entered = (None, named) if named and not _is_backward(later) else entered_block(earlier)
    other = entered or "stream"
    if kind == "freed":
        return _kept(earlier, other, named, freed)
    if earlier[3] < 0:
        return (Fix(message("call wait() on the work of this collective before this line"), "certain"),)
    if later[2] < 0:
        line = f"{other}.synchronize()"
        text = message("wait for the copy before this line: {line}", line=line)
    else:
        line = f"{current_stream(later)}.wait_stream({other})"
        there = frame_of(earlier[-1])
        if there is not None and block is not None and not isinstance(block.body[-1], _LEAVES):
            text = message("make the stream that uses the tensor wait behind this block: {line}", line=line)
            return (Fix(text, "likely", _behind(line, there, block), "use_site"),)
        text = message("make the stream wait before this line: {line}", line=line)
    edits = _before(line, frame_of(later[-1])) if named else ()
    return (Fix(text, "likely", edits, "use_site"),)


def _is_backward(access: Access) -> bool:
    """Whether it is of a backward pass: the program's hooks in it begin their copies behind the line that starts it."""
    statement = _statement(frame_of(access[-1]))
    calls = (each.func for each in ast.walk(statement or ast.Pass()) if isinstance(each, ast.Call))
    return any(isinstance(each, ast.Attribute) and each.attr == "backward" for each in calls)


def _kept(earlier: Access, other: str, named: str | None, freed: Frames) -> tuple[Fix, ...]:
    """The allocator has to know of the stream; or the stream that it knows has to wait."""
    waits = message(
        "have the stream that it was allocated on wait for {stream} before the tensor is freed", stream=other
    )
    there, end = frame_of(earlier[-1]), frame_of(freed)
    used, gone = _statement(there), _statement(end)
    names = _read(used) & _unbound(gone) if used is not None and gone is not None else set()
    if there is None or end is None or there.file != end.file or len(names) != 1:
        names = _copied(used, earlier)
    if there is None or used is None or len(names) != 1:
        at_the_head = _where_a_loop_begins(gone, end, named)
        if at_the_head is not None:
            return at_the_head, Fix(waits, "possible")
        text = message("call record_stream({stream}) on the tensor after it is used there", stream=other)
        return Fix(text, "likely", _before_the_end(gone, end, named), "use_site"), Fix(waits, "possible")
    line = _RECORD.format(tensor=names.pop(), stream="torch.cuda.current_stream()")
    text = message("tell the allocator of the stream behind this line: {line}", line=line)
    edits = () if isinstance(used, _LEAVES) or hasattr(used, "body") else _behind(line, there, used)
    return Fix(text, "likely", edits, "use_site"), Fix(waits, "possible")


def _copied(used: ast.stmt | None, access: Access) -> set[str]:
    """The tensor of ``access`` where its statement is a copy: ``t`` of ``host.copy_(t)``, which is read."""
    for call in (each for each in ast.walk(used or ast.Pass()) if isinstance(each, ast.Call)):
        match call:
            case ast.Call(func=ast.Attribute(value=receiver, attr="copy_"), args=[source, *_]):
                return _names(receiver if access[1] else source)
            case ast.Call(func=ast.Attribute(value=source, attr="to" | "cpu" | "cuda")) if not access[1]:
                return _names(source)
    return set()


def _names(node: ast.expr) -> set[str]:
    return {node.id} if isinstance(node, ast.Name) else set()


def _where_a_loop_begins(gone: ast.stmt | None, end: core.Frame | None, stream: str | None) -> Fix | None:
    """The stream told of what the head of a loop binds anew: the next turn gives its memory back."""
    # A stream of the program's may have its name in another function alone.
    if not isinstance(gone, ast.For | ast.While) or end is None or not (stream or "").startswith(_DEFAULT):
        return None
    names = gpu_tensors(sorted(_unbound(gone)), end)
    if not names or len(names) > _FEW:
        return None
    lines = [_RECORD.format(tensor=name, stream=stream) for name in names]
    text = message("tell the allocator of the stream where the loop begins: {lines}", lines="; ".join(lines))
    return Fix(text, "likely", _before("\n".join(lines), end, gone.body[0]), "use_site")


def _before_the_end(gone: ast.stmt | None, end: core.Frame | None, stream: str | None) -> tuple[Edit, ...]:
    """The stream told of what the statement ``gone`` lets go, where the use does not name it: a backward pass."""
    names = sorted(_unbound(gone)) if isinstance(gone, ast.Assign | ast.Delete) else []
    if not names or len(names) > _FEW or stream is None:
        return ()
    if isinstance(gone, ast.Assign) and not set(names) <= _bound_before(gone, end):
        return ()  # the first turn of a loop has no value yet
    lines = [_RECORD.format(tensor=name, stream=stream) for name in names]
    return _before("\n".join(lines), end)


def _bound_before(statement: ast.stmt, here: core.Frame | None) -> set[str]:
    """The names that the function around ``statement`` has bound in front of it."""
    tree = tree_at(str(here.file)) if here is not None else None
    if tree is None:
        return set()
    functions = (node for _, node in functions_in(tree) if node.lineno <= statement.lineno <= node.end_lineno)
    around = next(reversed([*functions]), None)  # outer functions come first
    given = ast.walk(around.args) if around is not None else ()
    stored = (each for each in statements_of(around or tree)
              if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))  # fmt: skip
    return {each.arg for each in given if isinstance(each, ast.arg)} | {
        each.id for each in stored if each.lineno < statement.lineno
    }


def _before(line: str, here: core.Frame | None, statement: ast.stmt | None = None) -> tuple[Edit, ...]:
    """``line`` before ``statement``, by default the one at ``here``, where that begins its line."""
    statement = statement or _statement(here)
    if here is None or here.package or statement is None:
        return ()
    text = linecache.getline(str(here.file), statement.lineno).rstrip("\n")
    if text[: statement.col_offset].strip() or text.split()[0] in _NOT_FIRST:
        return ()
    indent = text[: statement.col_offset]
    put = "".join(f"{indent}{each}\n" for each in line.split("\n"))
    return (_edit(here, statement.lineno, text, put + text),)


def _behind(line: str, there: core.Frame, statement: ast.stmt) -> tuple[Edit, ...]:
    """``line`` behind a whole statement that stands alone on its lines."""
    last = statement.end_lineno or statement.lineno
    first_text = linecache.getline(str(there.file), statement.lineno)
    text = linecache.getline(str(there.file), last).rstrip("\n")
    rest = (
        text.encode()[statement.end_col_offset :].decode(errors="replace").strip() if statement.end_col_offset else ""
    )
    alone = not first_text[: statement.col_offset].strip() and (not rest or rest.startswith("#"))
    if there.package or not alone:
        return ()
    return (_edit(there, last, text, f"{text}\n{first_text[: statement.col_offset]}{line}"),)


def _edit(frame: core.Frame, number: int, before: str, after: str) -> Edit:
    file = str(frame.file)
    return Edit(Place(shown_path(file), number, 1, number, len(before) + 1, path=whole_path(file)), before, after,
                safe=False)  # fmt: skip


def _statement(frame: core.Frame | None) -> ast.stmt | None:
    """The innermost statement around the line of ``frame``; of a compound one only where it is not in its body."""
    tree = tree_at(str(frame.file)) if frame is not None and frame.file else None
    if frame is None or tree is None:
        return None
    line, found = int(frame.span.line), None
    for node in ast.walk(tree):  # outer statements come first
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            found = node
    return found


def _read(statement: ast.stmt) -> set[str]:
    return {each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}


def _unbound(statement: ast.stmt) -> set[str]:
    """The names that a statement binds anew, or deletes; a compound one by its head."""
    match statement:
        case ast.For(target=head) | ast.While(test=head):
            parts: list[ast.AST] = [head]
        case ast.With(items=items):
            parts = list(items)
        case _:
            parts = [] if hasattr(statement, "body") else [statement]
    return {each.id for part in parts for each in ast.walk(part)
            if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}  # fmt: skip
