"""Each rank of a job takes the GPU of its own number, where the program gives all of them the same one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from devsan.diagnostics.diagnostic import Edit
from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name, keyword, with_keyword
from devsan.fix.change import Change
from devsan.fix.failure import Failure, placing_frames
from devsan.fix.loading import OWN_GPU, OWN_NUMBER, importing
from devsan.fix.source import Source, source_of

_OPTION, _PLACED, _MAP, _CURRENT, _NAMED = 3, 4, 5, 6, 7  # see NOTE [Doubts]
_TAKE_NUMBER = {"cuda", "to", "set_device", "device"}
_NUMBERS = {"device", "device_ids", "output_device", "device_id"}
_FIRST = re.compile(r"cuda(:0)?")


def propose(failure: Failure) -> Iterator[Change]:
    """Yields ``set_device`` at the start, then the GPU of the rank where the first one is written out."""
    gpus = {operand["device"] for operand in failure.operands if operand["device"].startswith("cuda")}
    met = failure.is_mixed and len(gpus) > 1  # a tensor of the host has no rank's GPU
    if failure.finding["rank"] is None or not (met or failure.finding["kind"] == "group"):
        return
    yield from _maps(failure)
    yield from _placed_on_first(failure)
    for path in dict.fromkeys(frame["path"] for frame in failure.own_frames):
        source = source_of(path)
        if source is None:
            continue
        named = tuple(source.replace(node, own) for node, own in _first_gpus(source.tree))
        current = _current(source) if path == failure.own_frames[-1]["path"] else ()
        yield from _told_by_option(source)
        yield from _made_current_earlier(source)
        if current and not _sets_device(source):
            text = message("make the GPU of the rank the current one before the program begins")
            yield Change(text, "configuration", (*importing(source, "os"), *current), doubt=_CURRENT)
        if named:
            text = message("have each rank use the GPU of its number instead of the first one")
            yield Change(text, "creation_site", (*importing(source, "os"), *named), doubt=_NAMED)
            both = (*importing(source, "os"), *current, *named)
            text = message("have each rank use the GPU of its number, and make it the current one")
            yield Change(text, "creation_site", both, doubt=_NAMED + 1)


def _made_current_earlier(source: Source) -> Iterator[Change]:
    """``torch.cuda.set_device(local_rank)`` comes as soon as its argument is known: what is put on "cuda" before is on
    the first GPU."""
    for node in ast.walk(source.tree):
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call) or source.segment(call.func) != "torch.cuda.set_device":
            continue
        read = {name for argument in call.args for name in _names(argument)} - {"torch", "os", "int"}
        block = source.block_of(node)  # type: ignore[arg-type]
        before = block[: block.index(node)]  # type: ignore[arg-type]
        # Whatever has to do with its argument comes before: `args.local_rank = ...`, `dist.init_process_group()`.
        given = [number for number, each in enumerate(before) if read & _names(each)]
        rest = [each for each in before[max(given, default=-1) + 1 :] if not _is_heading(each)]
        if rest and (given or isinstance(source.function_around(node), ast.FunctionDef)):
            first = source.segment(rest[0]).splitlines()[0]
            text = message("move `{statement}` before `{place}`", statement=source.segment(node), place=first)
            edits = (source.insert_before(rest[0], source.lines_of(node)), source.remove(node))  # type: ignore[arg-type]
            yield Change(text, "statement_order", edits, doubt=_CURRENT)


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _is_heading(statement: ast.stmt) -> bool:
    """An import, or a text that stands alone: a docstring."""
    alone = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return alone or isinstance(statement, (ast.Import, ast.ImportFrom))


def _placed_on_first(failure: Failure) -> Iterator[Change]:
    """The one tensor that every rank puts on the first GPU goes to that of the rank."""
    for operand in failure.operands:
        for frame in placing_frames(operand):
            source = source_of(frame["path"])
            call = source.expression_at(frame) if source is not None and not failure.is_live(frame) else None
            for node, own in _first_gpus(call) if isinstance(call, ast.Call) else ():
                if source is None or node.value == "cuda":  # which is the current one: set_device is missing
                    continue
                current = own == OWN_GPU and _sets_device(source)
                device = '"cuda"' if current else own
                text = message("put `{name}` on the GPU of the rank where it is made", name=operand["name"])
                needed = () if current else importing(source, "os")
                yield Change(text, "creation_site", (*needed, source.replace(node, device)), doubt=_PLACED)


def _told_by_option(source: Source) -> Iterator[Change]:
    """``--local_rank``, by which torch.distributed.launch told the rank: torchrun sets an environment variable, and
    leaves the option at its default."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and function_name(node) == "add_argument" and node.args:
            options = {each.value for each in node.args if isinstance(each, ast.Constant)}
            default = keyword(node, "default")
            is_set = default is not None and "LOCAL_RANK" in source.segment(default)
            if options & {"--local_rank", "--local-rank"} and not is_set:
                text = message("let --local_rank default to the number that the launcher sets")
                edit = source.replace(node, with_keyword(source, node, "default", OWN_NUMBER))
                yield Change(text, "configuration", (*importing(source, "os"), edit), doubt=_OPTION)


def _maps(failure: Failure) -> Iterator[Change]:
    """A model that each rank loads onto the same GPU, by a map of one entry, goes to that of the rank."""
    owners = [event["owner"] for model in failure.models for event in model["placements"]]
    calls = [owner["where"] for owner in owners if "device_map" in owner["setting"] and owner["where"]]
    for where in {(each["path"], each["line"]): each for each in calls}.values():
        source = source_of(where["path"])
        call = source.expression_at(where) if source is not None else None
        given = keyword(call, "device_map") if isinstance(call, ast.Call) else None
        if source is not None and isinstance(given, ast.Dict) and len(given.values) == 1:
            text = message("load the whole model onto the GPU of its rank")
            edit = source.replace(given.values[0], OWN_NUMBER)
            yield Change(text, "configuration", (*importing(source, "os"), edit), doubt=_MAP)


def _current(source: Source) -> tuple[Edit, ...]:
    imports = [each for each in source.tree.body if isinstance(each, (ast.Import, ast.ImportFrom))]
    if not source.imports_torch:
        return ()
    return (source.insert_after(imports[-1], [f"torch.cuda.set_device({OWN_NUMBER})"]),)


def _sets_device(source: Source) -> bool:
    return any(isinstance(each, ast.Call) and function_name(each) == "set_device" for each in ast.walk(source.tree))


def _first_gpus(tree: ast.AST) -> list[tuple[ast.Constant, str]]:
    """The texts "cuda" and "cuda:0" and the number 0 that are given to calls as devices, each with what is a rank's."""
    found: list[tuple[ast.Constant, str]] = []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        numbers = [each for word in call.keywords if word.arg in _NUMBERS for each in _elements(word.value)]
        if function_name(call) in _TAKE_NUMBER:
            numbers += call.args
        index = keyword(call, "index") if function_name(call) == "device" else None
        numbers += [index] if index is not None else []
        found += [
            (each, OWN_NUMBER)
            for each in numbers
            if isinstance(each, ast.Constant) and type(each.value) is int and each.value == 0
        ]
        if function_name(call) == "device" and (len(call.args) == 2 or index is not None):
            continue  # torch.device("cuda", 0)
        texts = [
            each for each in (*call.args, *(word.value for word in call.keywords)) if isinstance(each, ast.Constant)
        ]
        found += [(each, OWN_GPU) for each in texts if isinstance(each.value, str) and _FIRST.fullmatch(each.value)]
    return found


def _elements(node: ast.expr) -> list[ast.expr]:
    """What a keyword is given; of a list the only one: several GPUs are meant for one process."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return node.elts if len(node.elts) == 1 else []
    return [node]
