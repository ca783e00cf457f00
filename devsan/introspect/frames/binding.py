"""From a name in a called function to the expression that its caller gave for it.

torch's functions written in Python know an operand as ``target`` or ``self.weight``; the caller wrote
``shift_labels.view(-1)`` or ``self.norm``. One step follows an expression one frame outwards.
"""

from __future__ import annotations

import ast
import functools
import types

from devsan.introspect.frames.expressions import Expression, arguments_of
from devsan.introspect.frames.frames import Frame
from devsan.introspect.frames.module_tree import tensors_below
from devsan.introspect.frames.tensors import are_apart, is_module, is_tensor, placement_of
from devsan.introspect.frames.values import MISSING, Step, part


def step_out(expression: Expression, callee: Frame, caller: Frame) -> Expression | None:
    """Returns what ``caller`` gave for ``expression`` of ``callee``, or None when that cannot be told."""
    root, steps = _root(expression.node, callee)
    if root is None or steps is None:
        return None
    steps += expression.path
    given, rest = _given_for(root, steps, callee, caller)
    if given is None:
        return None
    path = _as_registered(given, given.path + rest, caller)
    found = Expression(given.node, path, _role(expression, root, steps, callee)).plain()
    return None if _moved_between(root, callee, given, caller) else found


def parameter_of(expression: Expression, callee: Frame) -> str | None:
    """Returns the parameter of ``callee`` that ``expression`` is made from; ``self`` and ``*args`` do not count."""
    root, _ = _root(expression.node, callee)
    named = callee.code.co_argcount + callee.code.co_kwonlyargcount
    return root if root in callee.code.co_varnames[:named] and root not in ("self", "cls") else None


def _role(expression: Expression, root: str, steps: tuple[Step, ...], callee: Frame) -> str | int | None:
    """torch's own word for the operand: the parameter, or the attribute of a module (``weight``)."""
    if root in callee.varargs:
        return expression.role
    if root == "self":
        return str(steps[0].key) if steps and steps[0].is_attribute else expression.role
    return root + "".join(map(str, steps))


def is_made_here(expression: Expression, callee: Frame, given: Expression, caller: Frame) -> bool:
    """Returns whether ``callee`` has made another tensor of what it was given: what ``expression`` stands for there is
    not ``given`` of ``caller``, nor a view of it.

    ``nn.Sequential`` calls ``input`` what its first module gets, and then what each has made of it.
    """
    root, steps = _root(expression.node, callee)
    now = callee.scope.value(ast.Name(root, ast.Load())) if root is not None else MISSING
    for step in steps or ():
        now = now if is_tensor(now) else part(now, step)
    for step in expression.path:
        now = now if is_tensor(now) else part(now, step)
    then = given.value(caller)
    return is_tensor(now) and is_tensor(then) and are_apart(now, then)


def _root(node: ast.AST, frame: Frame) -> tuple[str | None, tuple[Step, ...] | None]:
    """Returns the variable that ``node`` starts from and the steps to it; no steps when it is only made from it."""
    steps: list[Step] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            steps.insert(0, Step(node.attr, is_attribute=True))
            node = node.value
        elif isinstance(node, ast.Subscript):
            key = frame.scope.value(node.slice)
            if isinstance(key, (int, str)) and not is_tensor(frame.scope.value(node.value)):
                steps.insert(0, Step(key))
            else:
                steps.clear()
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):  # input.view(-1) is made from input
            steps.clear()
            node = node.func.value
        else:
            return None, None
    return node.id, tuple(steps)


def _given_for(
    root: str, steps: tuple[Step, ...], callee: Frame, caller: Frame
) -> tuple[Expression | None, tuple[Step, ...]]:
    """Returns the caller's expression for a parameter, and the steps that remain to be taken from it."""
    code = callee.code
    if root in code.co_freevars and _is_shared(root, callee, caller):  # `inner` of Module._call_impl, for hooks
        return Expression(ast.Name(root, ast.Load())), steps
    positional = code.co_varnames[: code.co_argcount]
    keyword_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    star, twice = callee.varargs
    slots = arguments_of(caller)
    bound = _filled_before(callee, caller, slots)
    if root in positional[:bound]:
        return _holder(callee.scope.locals.get(root, MISSING), caller), steps
    by_place = [slot for slot in slots if slot.role == "self" or isinstance(slot.role, int)]
    by_name = {slot.role: slot for slot in slots if isinstance(slot.role, str)}
    if root == star:
        if not steps or not isinstance(steps[0].key, int):
            return None, steps
        held = callee.scope.locals.get(star or "", MISSING)
        number = steps[0].key
        if number < 0 and isinstance(held, tuple):
            number += len(held)
        if number < 0:
            return None, steps
        place, rest = len(positional) - bound + number, steps[1:]
        return (_at(by_place, place) if place >= 0 else _holder(_first_of_star(callee), caller)), rest
    if root == twice:
        return (by_name.get(str(steps[0].key)), steps[1:]) if steps else (None, steps)
    if root in positional:
        place = positional.index(root) - bound
        return _at(by_place, place) or by_name.get(root), steps
    return (by_name.get(root) if root in keyword_only else None), steps


def _as_registered(given: Expression, path: tuple[Step, ...], caller: Frame) -> tuple[Step, ...]:
    """Returns ``path`` by the name of the parameter or buffer that it leads to: ``weight_hh_l0`` of a recurrent network
    for its private ``_flat_weights[1]``."""
    module = caller.scope.value(given.node)
    if not path or not path[0].is_attribute or not str(path[0].key).startswith("_") or not is_module(module):
        return path
    tensor: object = module
    for step in path:
        tensor = part(tensor, step)
    names = next((names for names, each in tensors_below(module) if each is tensor), ())
    return tuple(Step(name, is_attribute=True) for name in names) or path


def _is_shared(name: str, callee: Frame, caller: Frame) -> bool:
    """Whether a closure's variable is that of the function that calls it."""
    value = callee.scope.locals.get(name, MISSING)
    return value is not MISSING and value is caller.scope.locals.get(name, MISSING)


def _at(slots: list[Expression], place: int) -> Expression | None:
    return slots[place] if 0 <= place < len(slots) else None


def _filled_before(callee: Frame, caller: Frame, slots: list[Expression]) -> int:
    """Returns how many parameters a method's object or a functools.partial filled before the arguments."""
    names = callee.code.co_varnames[: callee.code.co_argcount]
    if not isinstance(caller.node, ast.Call):
        return 0
    function = caller.scope.value(caller.node.func)
    if not names:  # a decorator of methods: wrapper(*args, **kwargs)
        owner = _first_of_star(callee)
        given_first = bool(slots) and slots[0].value(caller) is owner
        return int(owner is not MISSING and not given_first and _is_called_on(owner, caller))
    if type(function) is functools.partial:  # accelerate's hooks are partial(new_forward, module)
        return len(function.args)
    owner = callee.scope.locals.get(names[0], MISSING)
    own = getattr(type(owner), "forward", None) if is_module(owner) else None  # whatever it calls its object
    is_method = getattr(own, "__code__", None) is callee.code
    if names[0] not in ("self", "cls", "ctx") and not is_method:
        return 0
    if not slots:
        return 1
    given_first = owner is not MISSING and slots[0].value(caller) is owner  # Module.forward(module, x)
    return 0 if given_first or slots[0].role == "self" else 1


def _first_of_star(callee: Frame) -> object:
    """Returns what ``*args`` of ``callee`` begins with, or MISSING."""
    given = callee.scope.locals.get(callee.varargs[0] or "", MISSING)
    return given[0] if isinstance(given, tuple) and given else MISSING


def _is_called_on(owner: object, caller: Frame) -> bool:
    """Whether ``caller`` calls a method of ``owner``, or ``owner`` itself, whose ``__call__`` is one."""
    function = caller.node.func if isinstance(caller.node, ast.Call) else None
    held = caller.scope.value(function)
    if held is owner or (type(held) is types.MethodType and held.__self__ is owner):
        return True
    return isinstance(function, ast.Attribute) and caller.scope.value(function.value) is owner


def _holder(owner: object, caller: Frame) -> Expression | None:
    """Returns the caller's expression for the object whose method was called."""
    function = caller.node.func if isinstance(caller.node, ast.Call) else None
    if owner is MISSING or function is None:
        return None
    if isinstance(function, ast.Attribute) and caller.scope.value(function.value) is owner:
        return Expression(function.value)
    if caller.scope.value(function) is owner:  # self.norm(x)
        return Expression(function)
    for name in (*caller.code.co_varnames[: caller.code.co_argcount], *caller.code.co_freevars):
        if caller.scope.locals.get(name, MISSING) is owner:
            return Expression(ast.Name(name, ast.Load()))
    return None


def _moved_between(root: str, callee: Frame, given: Expression, caller: Frame) -> bool:
    """Whether ``callee`` has put its parameter on another device since: then the caller's tensor is not the operand."""
    now, then = callee.scope.locals.get(root, MISSING), given.value(caller)
    if now is then or not is_tensor(now) or not is_tensor(then):
        return False
    here, there = placement_of(now), placement_of(then)
    return here is not None and there is not None and here.device != there.device
