"""The arguments of the optimizers and schedulers that the installed DeepSpeed makes from its file."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from devsan.doctor.installed.keywords import keywords
from devsan.doctor.installed.module import Module
from devsan.doctor.installed.packages import Installed

_ENGINE, _NAMES = "deepspeed.runtime.engine", "deepspeed.runtime.config"
_SCHEDULES, _OF_TORCH = "deepspeed.runtime.lr_schedules", "torch.optim.lr_scheduler"
_MAKER, _PARAMETERS = "_configure_basic_optimizer", "optimizer_parameters"
_GIVEN = frozenset({"optimizer", "params", "model_params"})  # by DeepSpeed itself


def scheduler_arguments(installed: Installed, kind: str) -> frozenset[str]:
    """Returns what ``scheduler.params`` may hold for a ``scheduler.type``; nothing where that is not known."""
    if installed.module(_SCHEDULES) is None:
        return frozenset()
    return (keywords(installed, _SCHEDULES, kind) or keywords(installed, _OF_TORCH, kind)) - _GIVEN


def optimizer_arguments(installed: Installed, kind: str) -> frozenset[str]:
    """Returns what ``optimizer.params`` may hold for an ``optimizer.type``; nothing where that is not known.

    A type may be made by several classes, by what else the file says: what one of them takes is among the arguments.
    """
    engine, names = installed.module(_ENGINE), installed.module(_NAMES)
    maker = _method(engine, _MAKER) if engine is not None else None
    if engine is None or names is None or maker is None:
        return frozenset()
    body = _branch(maker, kind.lower(), _constants(names))
    if body is None:
        return keywords(installed, "torch.optim", kind) - _GIVEN
    if not any(_passes_on(node) for part in body for node in ast.walk(part)):
        return frozenset()  # it picks some, and leaves the others
    parts = [*body, *_called(engine, body)]
    constants = {**_constants(engine), **_constants(names)}
    taken: set[str] = {name for part in parts for name in _popped(part, constants)}
    for module, name in _made(engine, parts):
        known = keywords(installed, module, name)
        if not known:
            return frozenset()
        taken |= known
    return frozenset(taken) - _GIVEN


def _method(module: Module, name: str) -> ast.FunctionDef | None:
    found = module.functions.get(name, [])
    return found[0] if len(found) == 1 else None


def _constants(module: Module) -> dict[str, str]:
    """The texts that a module names."""
    return {
        target.id: node.value.value
        for node in module.statements
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _branch(maker: ast.FunctionDef, kind: str, constants: dict[str, str]) -> list[ast.stmt] | None:
    """What the engine runs for a type; None where it runs what is for any other."""
    for node in ast.walk(maker):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Compare):
            named = {constants.get(each.id, "") for each in ast.walk(node.test) if isinstance(each, ast.Name)}
            if kind in named:
                return node.body
    return None


def _passes_on(node: ast.AST) -> bool:
    return isinstance(node, ast.keyword) and node.arg is None and getattr(node.value, "id", "") == _PARAMETERS


def _called(engine: Module, body: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
    """The engine's methods that are given the parameters."""
    for node in (each for part in body for each in ast.walk(part)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            own = ast.unparse(node.func.value) == "self"
            method = _method(engine, node.func.attr) if own else None
            if method is not None and any(getattr(each, "id", "") == _PARAMETERS for each in node.args):
                yield method


def _popped(part: ast.AST, constants: dict[str, str]) -> Iterator[str]:
    """What is taken out of the parameters before they are passed on."""
    for node in ast.walk(part):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "pop" and node.args:
            key = node.args[0]
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value
            elif isinstance(key, ast.Name) and key.id in constants:
                yield constants[key.id]


def _made(engine: Module, parts: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """The classes that may be made: those that the code imports, and those of torch."""
    for node in (each for part in parts for each in ast.walk(part)):
        if isinstance(node, ast.ImportFrom):
            yield from ((engine.absolute(node), alias.name) for alias in node.names)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "torch.optim":
            yield "torch.optim", node.attr
