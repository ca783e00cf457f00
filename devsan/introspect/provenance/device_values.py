"""What a variable that said a device was given: ``device`` is a parameter, and its default is "cuda".

Reads the source along the stack of an event: from the function that placed to those that called it.
"""

from __future__ import annotations

import ast
import copy
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from devsan import core
from devsan.diagnostics.torch_names import MOVES
from devsan.introspect.frames.only_calls import given_at_only_call, only_call
from devsan.introspect.frames.scopes import Spot, function_of, spot_in
from devsan.introspect.source.parsing import parse_expression
from devsan.introspect.source.sources import bindings_in, functions_in, nodes_in, parts_of, tree_at
from devsan.introspect.source.statements import call_at, said_by, stands_for_many

_DEEPEST = 8
_LONGEST = 60
_FIRST_PARAMETER = re.compile(r"next\((?:iter\()?[\w.]*\.(?:parameters|buffers)\(\)")
_OF_TENSORS = frozenset({"shape", "size", "dim", "ndim", "dtype", "numel", "requires_grad", "detach", "view", "grad",
                         "reshape", "new_zeros", "new_tensor", "backward"})  # fmt: skip
_OF_MODULES = frozenset({"config", "parameters", "named_parameters", "modules", "named_modules", "children", "train",
                         "state_dict", "load_state_dict", "generate", "get_input_embeddings", "hf_device_map",
                         "eval"})  # fmt: skip
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_INSIDE = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")


@dataclass(frozen=True)
class _Given:
    """An expression, and the function that it stands in."""

    node: ast.expr
    spot: Spot


def settle_source(event: core.Event) -> None:
    """Fills in ``event.source`` where the text of the device leads to the word "cuda" or to a tensor's device."""
    sources = core.DeviceSource
    if event.source != sources.UNKNOWN or not _is_name(event.device_text):
        return
    frames = _frames_of(event)
    spot = spot_in(frames[0]) if frames else None
    given = spot.last_given(event.device_text) if spot is not None else None
    if given is not None and given[1]:  # an element of a loop over several devices: a plan by hand
        event.source = sources.MAP
        return
    if spot is not None and _is_used_as(_OF_TENSORS, event.device_text, spot):  # x.to(other)
        event.source = sources.PEER
        return
    found = _follow(parse_expression(event.device_text), frames, _DEEPEST)
    said = found.node if found is not None else None
    if isinstance(said, ast.Constant) and said.value == "cuda":
        event.source = sources.CURRENT
    elif isinstance(said, ast.Attribute) and said.attr == "device":
        holder = ast.unparse(said.value)
        if "self" not in holder and not stands_for_many(holder):
            event.source = sources.PEER


def say_value(event: core.Event) -> None:
    """Fills in ``event.device_value``, and where it stands, where the text of the device is a name.

    It looks further than ``settle_source``: into the object that keeps the device, and to the only call that made it.
    The device of a model's first parameter is one value for all that is made with it.
    """
    if not _is_name(event.device_text):
        return
    frames = _frames_of(event)
    node = parse_expression(event.device_text)
    found = _follow(node, frames, _DEEPEST)
    spot = spot_in(frames[0]) if frames else None
    if event.source == core.DeviceSource.PEER and spot is not None:
        holder = event.device_text.removesuffix(".device")
        if _is_used_as(_OF_MODULES, holder, spot) or _is_one_for_all(event, spot):
            event.source = core.DeviceSource.SCALAR
    said = found
    for _ in range(_DEEPEST):
        held = _unwrapped(found.node if found is not None else node)
        spot = found.spot if found is not None else spot
        if spot is None:
            break
        further = _of_tensor(held, spot) or _kept(held, spot) or _at_only_call(held, spot)
        if further is None:
            break
        if event.source == core.DeviceSource.PEER and _is_of_tensor(held) and not _is_of_tensor(further.node):
            event.source = core.DeviceSource.SCALAR  # the same function made that tensor on this device
        found = further
        said = found if not isinstance(found.node, ast.Name) else said
    value = _text(said.node) if said is not None else ""
    another = said is not None and not isinstance(said.node, ast.Name) and value != event.device_text
    if said is not None and another and len(value) <= _LONGEST:
        event.device_value = value
        event.device_value_at = f"{os.path.basename(said.spot.file)}:{said.node.lineno}"
        if event.source == core.DeviceSource.PEER and _FIRST_PARAMETER.match(value):
            event.source = core.DeviceSource.SCALAR


def _is_used_as(attributes: frozenset[str], name: str, spot: Spot) -> bool:
    """Whether the function of ``spot`` reads one of these attributes of the variable ``name``."""
    return any(
        node.attr in attributes and isinstance(node.value, ast.Name) and node.value.id == name
        for node in nodes_in(spot.tree, ast.Attribute)
    )


def _is_one_for_all(event: core.Event, spot: Spot) -> bool:
    """Whether a comprehension makes all its elements on one device: ``[torch.zeros_like(first) for _ in layers]``."""
    at = (event.stack[0].span.line, event.stack[0].span.column - 1)
    around = [
        node
        for node in nodes_in(spot.tree, *_COMPREHENSIONS)
        if (node.lineno, node.col_offset) <= at < (node.end_lineno or 0, node.end_col_offset or 0)
    ]
    targets = [part.target for node in around for part in node.generators]
    return bool(around) and not _names_in(parse_expression(event.device_text)) & _names_in(*targets)


def _names_in(*nodes: ast.AST | None) -> set[str]:
    return {part.id for node in nodes if node is not None for part in ast.walk(node) if isinstance(part, ast.Name)}


def _text(node: ast.expr) -> str:
    """Source as people write it: with double quotes."""
    return f'"{node.value}"' if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)


def _is_name(text: str) -> bool:
    return text.replace(".", "").isidentifier()


def _frames_of(event: core.Event) -> list[core.Frame]:
    """The frames to read: of a comprehension, which has one of its own up to Python 3.11, the function's around it."""
    closed = ("torch", "python")
    return [each for each in event.stack if each.package not in closed and not each.function.endswith(_INSIDE)]


def _follow(node: ast.expr | None, frames: Sequence[core.Frame], left: int) -> _Given | None:
    """What the functions of a stack, the innermost first, gave for ``node``; itself where it is no name."""
    spot = spot_in(frames[0]) if left and frames and node is not None else None
    if spot is None or node is None:
        return None
    if not isinstance(node, ast.Name):
        inner = _unwrapped(node)
        return _Given(node, spot) if inner is node else _follow(inner, frames, left - 1)
    assigned = spot.last_given(node.id)
    if assigned is not None:
        return _follow(assigned[0], frames, left - 1)
    return _given(node.id, spot, frames, left)


def _unwrapped(node: ast.expr | None) -> ast.expr | None:
    """What ``torch.device(...)`` makes a device of."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.device" and len(node.args) == 1:
        return node.args[0]
    return node


def _given(name: str, spot: Spot, frames: Sequence[core.Frame], left: int) -> _Given | None:
    """What the caller gave for a parameter, or its default."""
    arguments = getattr(spot.tree, "args", None)
    call = call_at(frames[1]) if len(frames) > 1 else None
    if call is None or not isinstance(arguments, ast.arguments):
        return None
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    if name not in names + [each.arg for each in arguments.kwonlyargs]:
        return None
    bound = 1 if names[:1] in (["self"], ["cls"]) else 0
    given = dict(zip(names[bound:], call.args, strict=False)) | {word.arg: word.value for word in call.keywords}
    if name in given:  # the call was parsed alone, so that its lines begin at 1
        node = ast.increment_lineno(copy.deepcopy(given[name]), frames[1].span.line - 1)
        return _follow(node, frames[1:], left - 1)
    default = _default(name, arguments)
    return _Given(default, spot) if default is not None else None


def _default(name: str, arguments: ast.arguments) -> ast.expr | None:
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    defaults = dict(zip(reversed(names), reversed(arguments.defaults), strict=False))
    defaults |= {
        each.arg: value for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value
    }
    return defaults.get(name)


def _kept(node: ast.expr | None, spot: Spot) -> _Given | None:
    """What the class of ``spot`` gives ``self.device``, where it gives it once."""
    if not isinstance(node, ast.Attribute) or ast.unparse(node.value) != "self":
        return None
    owner, whole = spot.function.rpartition(".")[0], tree_at(spot.file)
    found = [
        _Given(value, Spot(spot.file, function, tree, line, globals=spot.globals))
        for function, tree in (functions_in(whole) if whole is not None and owner else ())
        if function.rpartition(".")[0] == owner
        for line, target, value, is_element in bindings_in(tree)
        if target == ast.unparse(node) and not is_element
    ]
    return found[0] if len(found) == 1 else None


def _of_tensor(node: ast.expr | None, spot: Spot) -> _Given | None:
    """The tensor whose ``.device`` is meant, as the variable that holds it was given: ``next(model.parameters())``."""
    if not isinstance(node, ast.Attribute) or node.attr != "device" or not isinstance(node.value, ast.Name):
        return None
    assigned = spot.last_given(node.value.id)
    text = ast.unparse(assigned[0]) if assigned is not None else ""  # next(...), of which it is an element
    whole = parse_expression(f"{text}.device") if _FIRST_PARAMETER.match(text) else None
    if whole is not None and assigned is not None:
        return _Given(ast.copy_location(whole, assigned[0]), spot)
    made_on = _made_on(node.value, spot, _DEEPEST)
    return _Given(made_on, spot) if made_on is not None else None


def _made_on(node: ast.AST | None, spot: Spot, left: int) -> ast.expr | None:
    """The device on which the function itself made the tensor that ``node`` is computed from; None where that is not
    sure: of several tensors only one that all agree with."""
    if node is None or left <= 0:
        return None
    if isinstance(node, ast.Name):
        assigned = spot.last_given(node.id)
        if assigned is None or assigned[1]:
            return None
        return _made_on(assigned[0], spot.before(assigned[0]), left - 1)
    if isinstance(node, ast.Subscript):
        return _made_on(node.value, spot, left - 1)
    if isinstance(node, ast.Call):
        said = said_by(node)
        if said.is_factory and not said.peer:
            return next((word.value for word in node.keywords if word.arg == "device"), None)
        if said.call in MOVES:
            return None
        of_tensor = isinstance(node.func, ast.Attribute) and not spot.is_namespace(node.func.value)
        return _made_on(node.func.value if of_tensor else _given_to_own(node, spot), spot, left - 1)  # type: ignore[attr-defined]
    read = [each for each in parts_of(node) if each is not None and not isinstance(each, ast.Constant)]
    found = [_made_on(each, spot, left - 1) for each in read]
    first = found[0] if found else None
    same = first is not None and all(each is not None and ast.dump(each) == ast.dump(first) for each in found)
    return first if same else None


def _given_to_own(call: ast.Call, spot: Spot) -> ast.expr | None:
    """The only tensor that a function of the program's is given, by which alone it can say where its result is."""
    named = [each for each in call.args if isinstance(each, ast.Name) and each.id not in ("self", "cls")]
    own = function_of(call, spot) is not None
    return named[0] if own and len(named) == 1 else None


def _is_of_tensor(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "device" and ast.unparse(node.value) != "self"


def _at_only_call(node: ast.expr | None, spot: Spot) -> _Given | None:
    """What a parameter was given at the only call of its function, or its default; what a variable was given."""
    arguments = getattr(spot.tree, "args", None)
    if not isinstance(node, ast.Name):
        return None
    assigned = spot.last_given(node.id)
    if assigned is not None:
        return None if assigned[1] else _Given(assigned[0], spot)
    if not isinstance(arguments, ast.arguments):
        return None
    given = given_at_only_call(spot, node.id)
    if given is not None:
        return _Given(*given)
    default = _default(node.id, arguments)
    return _Given(default, spot) if default is not None and only_call(spot) is not None else None
