"""A model that one library placed is left to it: no second owner moves it, wraps it, or places it once more."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.diagnostics.diagnostic import Edit
from devsan.diagnostics.messages import message
from devsan.fix.calls import moved
from devsan.fix.change import Change
from devsan.fix.failure import Failure, is_own
from devsan.fix.loading import OWN_NUMBER, importing
from devsan.fix.placed_model import PlacedModel, placed_models
from devsan.fix.source import Source, source_of

_MOVE, _MAP, _HOOKS, _OTHERS = 1, 3, 6, 30  # see NOTE [Doubts]
_MOST_LOADINGS = 3


def propose(failure: Failure) -> Iterator[Change]:
    """Yields the program without what the second owner does, and without the map of the first."""
    later = 0 if failure.has_two_owners else _OTHERS
    for model in placed_models(failure):
        names = {*model.facts["expression"].split(".")}
        moves = list(_moves(model))
        for source, call in [*moves, *_calls(failure)]:
            receiver = moved(call)
            if receiver is not None and ((source, call) in moves or names & {*source.segment(receiver).split(".")}):
                text = message("leave the placed model where it is: no `{move}`", move=source.segment(call))
                yield Change(text, "statement_order", (_without(source, call, receiver),), doubt=_MOVE + later)
            for name, inner in _wrapped(source, call):
                text = message("call the placed model without {wrapper}", wrapper=name)
                yield Change(text, "configuration", (source.replace(call, inner),), doubt=_MOVE + later)
        yield from _without_map(model, _MAP + later)
        yield from _without_hooks(model) if failure.has_two_owners else ()


def _moves(model: PlacedModel) -> Iterator[tuple[Source, ast.Call]]:
    """The program's own moves of the model or of a part of it, the latest first."""
    for event in reversed(model.facts["placements"]):
        for frame in event["frames"]:
            source = source_of(frame["path"]) if event["kind"] == "moved" and is_own(frame["path"]) else None
            call = source.expression_at(frame) if source is not None else None
            if source is not None and isinstance(call, ast.Call):
                yield source, call


def _calls(failure: Failure) -> Iterator[tuple[Source, ast.Call]]:
    """The calls of the user's files that had not returned, and what they call or are given."""
    for frame in failure.own_frames:
        source = source_of(frame["path"])
        call = source.expression_at(frame) if source is not None else None
        if source is not None and call is not None:
            yield from ((source, node) for node in ast.walk(call) if isinstance(node, ast.Call))


def _wrapped(source: Source, call: ast.Call) -> Iterator[tuple[str, str]]:
    """What a wrapper is called, and what it is given."""
    name = source.segment(call.func).rpartition(".")[2]
    if name == "DataParallel" and call.args:
        yield name, source.segment(call.args[0])


def _without(source: Source, call: ast.Call, receiver: ast.expr) -> Edit:
    statement = source.statement_around(call)
    if isinstance(statement, ast.Expr) and statement.value is call:
        return source.remove(statement)
    return source.replace(call, source.segment(receiver))


def _without_map(model: PlacedModel, doubt: int) -> Iterator[Change]:
    for loading in model.loadings[:_MOST_LOADINGS]:
        if loading.function == "dispatch_model" and loading.call.args:
            text = message("leave out dispatch_model: another owner places the model")
            edit = loading.source.replace(loading.call, loading.source.segment(loading.call.args[0]))
            yield Change(text, "configuration", (edit,), doubt=doubt)
            continue
        without = loading.with_map("None")
        if without is not None:
            text = message("load the model without a device map: another owner places it")
            yield Change(text, "configuration", (without,), doubt=doubt)
        # The current device is that of the rank only once the program says so.
        own = loading.with_map(f'{{"": {OWN_NUMBER}}}')
        if own is not None:
            text = message("load the whole model onto the GPU of its rank")
            yield Change(text, "configuration", (*importing(loading.source, "os"), own), doubt=doubt + 1)
        own = loading.with_map('{"": torch.cuda.current_device()}')
        if own is not None and loading.source.imports_torch:
            text = message("load the whole model onto the GPU of this process")
            yield Change(text, "configuration", (own,), doubt=doubt + 2)


def _without_hooks(model: PlacedModel) -> Iterator[Change]:
    """Weights may be moved once no hook brings inputs to where they were."""
    hooked = any(hook["execution_device"] for module in model.facts["modules"] for hook in module["hooks"])
    for loading in model.loadings[:1] if hooked else ():
        text = message("remove the hooks of the placed model: another owner places it")
        lines = ("from accelerate.hooks import remove_hook_from_submodules", "remove_hook_from_submodules({model})")
        yield Change(text, "workaround", loading.then(lines), doubt=_HOOKS)
