"""Which expressions say the device that is wanted, at a place of the source.

NOTE [Expressions before literals] A change that says ``x.device`` works on every machine; one that says ``"cuda:0"``
works on this one. What a place can say is read from its function: the operand itself where it is in scope, the text
that placed it, names that are devices by what they are called, arguments that are used as tensors, the module's own
parameters. That is a guess; each is an experiment, and a wrong one fails.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.torch_names import FACTORIES, NEW, STAYING
from devsan.fix.calls import function_name, is_factory, moved, own_attribute
from devsan.fix.failure import is_weight
from devsan.fix.source import Source

LITERAL = 25
"""The doubt of a device that is written out."""

HOST = 40
"""The doubt of a move to the host, where the program wants a GPU."""

_MOST = 6
_OF_TENSORS = NEW | {
    "device", "shape", "size", "dim", "ndim", "dtype", "to", "view", "reshape", "numel", "float", "long", "transpose",
    "permute", "unsqueeze",
}  # fmt: skip

_OF_LAYERS = {"in_features", "out_features", "embedding_dim", "num_embeddings", "in_channels", "out_channels", "weight"}

_PRIVATE, _PUBLIC = re.compile(r"^(.+)\._flat_weights\[\d+\]$"), r"next(\1.parameters())"
"""A recurrent module's own list of its weights (torch/nn/modules/rnn.py), and what programs say instead."""

_HOOKS = {"register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"}

_NO_MODULES = ("Trainer", "Callback", "Dataset", "Sampler", "Optimizer", "DataCollator", "ABC", "Enum", "NamedTuple",
               "object", "Protocol", "Generic", "Exception", "dict", "DataLoader")  # fmt: skip

_OF_NUMBERS = {"manual_seed", "seed"}

_WITH_DEVICE = {"Accelerator", "Fabric", "PartialState"}
"""Classes whose ``device`` is the GPU of the process."""


def devices(source: Source, node: ast.AST, operand: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Returns expressions for the device of ``operand`` that may stand at ``node``, each with its doubt."""
    named = dict.fromkeys(_expressions(source, node, operand))
    found = [(text, number) for number, text in enumerate(list(named)[:_MOST])]
    found.append((f'"{operand["device"]}"', LITERAL))
    host = HOST if operand["device"] == "cpu" else 0
    return [(text, doubt + host) for text, doubt in found]


def _expressions(source: Source, node: ast.AST, operand: Mapping[str, Any]) -> Iterator[str]:
    bound = names_bound(source, node)
    function = source.function_around(node)
    name = parsed(operand["name"])
    root, public = "", _PRIVATE.sub(_PUBLIC, operand["name"] or "")
    if name is not None:
        holder = _receiver(name)
        root, public = _root(holder), public if holder is name else ast.unparse(holder)
    is_tensor = operand.get("dtype") != "" or operand.get("kind") == "generator"  # else what was given as `device=`
    said = public if "device" in public or not is_tensor else f"{public}.device"
    is_local = root in {getattr(each, "id", getattr(each, "arg", None)) for each in ast.walk(function)}
    if is_local and root in bound:
        yield said
    yield from (f"{source.segment(each)}.device" for each in _asked_for_shape(node) if _root(each) in bound)
    yield from (f"next({layer}.parameters()).device" for layer in _wrapped(source, node))
    yield from (f"{layer}.weight.device" for layer in _layers(function))
    called = _called_with(source, node)
    callee = parsed(called)
    unnamed = callee is not None and not operand["name"] and _root(callee) in bound - {"torch", "F"}
    if is_weight(operand) and (unnamed or (called and operand["name"].startswith(f"{called}."))):
        yield f"next({called}.parameters()).device"
    yield from (f"next({module}.parameters()).device" for module in _hooked(source, function, bound))
    inside = source.class_around(node)
    for event in operand["provenance"][:2]:
        text = parsed(event["device_text"])
        if text is not None and _is_known(source, inside, text, bound) and event["device_text"] in source.text:
            yield event["device_text"]
    yield from _devices_in(source, function, bound)
    yield from (f"{argument}.device" for argument in _given_to_modules(function))
    for outer in [source.tree] if inside is None else [inside, source.tree]:
        yield from _devices_in(source, outer, bound)
    for scope in dict.fromkeys((function, source.tree)):
        yield from (f"{name}.device" for name in _framework_objects(scope) if name in bound)
    if inside is not None and "self" in bound:
        yield from (f"{name}.device" for name in _framework_attributes(source, inside))
        yield from _framework_methods(source, function, inside)
    yield from (f"{argument}.device" for argument in _tensors(function))
    yield from (f"next({name}.parameters()).device" for name in _modules(source, function, bound))
    for scope in [function] if inside is None else [function, inside]:
        yield from _destinations(source, scope, bound)
    # A class without bases has no parameters(), and no trainer has.
    bases = [source.segment(each).partition("[")[0] for each in inside.bases] if inside is not None else []
    is_derived = any(not each.endswith(_NO_MODULES) for each in bases)
    if is_derived and "self" in bound and getattr(function, "name", "") != "__init__":
        yield "next(self.parameters()).device"
    if not is_local and root in bound:  # a global, which need not be the same tensor
        yield said


def _asked_for_shape(node: ast.AST) -> Iterator[ast.expr]:
    """The tensors that a factory asks for its shape or its dtype: ``p`` of ``torch.zeros(p.shape, dtype=p.dtype)``."""
    for each in ast.walk(node) if is_factory(node) else ():
        if isinstance(each, ast.Attribute) and each.attr in ("shape", "size", "dtype") and _root(each) != "torch":
            yield each.value


def _wrapped(source: Source, node: ast.AST) -> Iterator[str]:
    """The layer that a statement wraps in its own place: ``net.fc`` of ``net.fc = Lora(net.fc).to(device)``."""
    statement = source.statement_around(node) if isinstance(node, ast.expr) else None
    made = moved(node)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(made, ast.Call):
        target = source.segment(statement.targets[0])
        if target in map(source.segment, made.args):
            yield target


def _layers(function: ast.AST) -> Iterator[str]:
    """The arguments of a constructor that are layers: of these it asks how large they are."""
    if getattr(function, "name", "") == "__init__" and isinstance(function, ast.FunctionDef):
        asked = {each.value.id for each in ast.walk(function) if isinstance(each, ast.Attribute)
                 and isinstance(each.value, ast.Name) and each.attr in _OF_LAYERS}  # fmt: skip
        yield from (each.arg for each in function.args.args if each.arg in asked and each.arg != "self")


def _hooked(source: Source, function: ast.AST, bound: set[str]) -> Iterator[str]:
    """The modules in whose passes hooks of ``function`` run: what they meet is on the device of the module."""
    for node in own_nodes(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _HOOKS:
            names = {each.id for each in ast.walk(node.func.value) if isinstance(each, ast.Name)}
            if names <= bound | _functions_of(source):
                yield source.segment(node.func.value)


def _functions_of(source: Source) -> set[str]:
    return {each.name for each in source.tree.body if isinstance(each, ast.FunctionDef)}


def _called_with(source: Source, node: ast.AST) -> str:
    """What is called with ``node`` as an argument, as the source has it: ``stage`` of ``stage(x)``; "" if none is."""
    around = source.parents.get(node)
    given = isinstance(around, ast.Call) and node is not around.func
    return source.segment(around.func) if given and isinstance(around, ast.Call) else ""


def names_stored(node: ast.AST) -> set[str]:
    """Returns the variables that are given a value in ``node``."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def names_bound(source: Source, node: ast.AST) -> set[str]:
    """Returns the names that may have a value at ``node``: those assigned before it, and what is around."""
    found: set[str] = set()
    line = source.statement_around(node).lineno if isinstance(node, ast.expr) else getattr(node, "lineno", 0)
    around: ast.AST | None = node
    innermost = True
    while around is not None:
        if isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.Module)):
            if not isinstance(around, ast.Module):
                found |= {each.arg for each in ast.walk(around.args) if isinstance(each, ast.arg)}
            for each in own_nodes(around):
                if (
                    isinstance(each, ast.Name)
                    and isinstance(each.ctx, ast.Store)
                    and (each.lineno < line or not innermost)
                ):
                    found.add(each.id)
            innermost = False
        elif isinstance(around, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            found |= {
                each.id for made in around.generators for each in ast.walk(made.target) if isinstance(each, ast.Name)
            }
        around = source.parents.get(around)
    return found


def positional(function: ast.AST) -> list[str]:
    """Returns the names of the parameters that may be given by their places; none of what is no function."""
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return []
    return [each.arg for each in (*function.args.posonlyargs, *function.args.args)]


def is_left_out(source: Source, node: ast.AST) -> bool:
    """Returns whether ``node`` is a parameter that a call may leave out, and that is None then."""
    arguments = getattr(source.function_around(node), "args", None)
    if not isinstance(node, ast.Name) or not isinstance(arguments, ast.arguments):
        return False
    listed = [*arguments.posonlyargs, *arguments.args]
    having = listed[len(listed) - len(arguments.defaults) :] + arguments.kwonlyargs
    defaults = zip(having, [*arguments.defaults, *arguments.kw_defaults], strict=True)
    return any(
        parameter.arg == node.id and isinstance(default, ast.Constant) and default.value is None
        for parameter, default in defaults
    )


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yields what is in ``scope`` and in no function or class inside of it."""
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)


def _devices_in(source: Source, scope: ast.AST, bound: set[str]) -> Iterator[str]:
    """The names and attributes in ``scope`` that are called devices."""
    known = bound - {"torch", "self" if isinstance(scope, ast.Module) else "torch"}
    for node in ast.walk(scope):
        if isinstance(node, ast.arg) and "device" in node.arg and not node.arg.endswith("s") and node.arg in bound:
            yield node.arg
        if isinstance(node, ast.Name) and "device" in node.id and not node.id.endswith("s") and node.id in bound:
            yield node.id
        if isinstance(node, ast.Attribute) and node.attr == "device" and _root(node) in known:
            yield source.segment(node)
        kept = node.value if isinstance(node, ast.Assign) else None  # ctx.source = x.device
        if isinstance(kept, ast.Attribute) and kept.attr == "device":
            yield from (source.segment(each) for each in node.targets if _root(each) in known)  # type: ignore[attr-defined]


def _framework_objects(scope: ast.AST) -> Iterator[str]:
    """The names of what has chosen the GPU of this process: ``accelerator = Accelerator()``."""
    for node in own_nodes(scope):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            target, function = node.targets[0], function_name(node.value)
            if function in _WITH_DEVICE and isinstance(target, ast.Name):
                yield target.id
            deepspeed = function == "initialize" and "deepspeed" in ast.unparse(node.value.func)
            if deepspeed and isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name):
                yield target.elts[0].id  # the engine


def _framework_attributes(source: Source, inside: ast.ClassDef) -> Iterator[str]:
    """The attributes of self that a class has chosen the GPU of this process by: ``self.accelerator = Accelerator()``,
    or that its constructor is given by a name of that kind."""
    for node in ast.walk(inside):
        if isinstance(node, ast.Assign) and own_attribute(node.targets[0]):
            made = function_name(node.value) if isinstance(node.value, ast.Call) else ""
            handed = node.value.id if isinstance(node.value, ast.Name) else ""
            if made in _WITH_DEVICE or handed in ("accelerator", "fabric"):
                yield source.segment(node.targets[0])


def _framework_methods(source: Source, function: ast.AST, inside: ast.ClassDef) -> Iterator[str]:
    """What a method that a framework calls is given, or inherits, that knows the device of the process."""
    given = set(positional(function))
    bases = [source.segment(each).rpartition(".")[2] for each in inside.bases]
    if any(base.endswith("TrainerCallback") for base in bases) and "args" in given:
        yield "args.device"
    elif any(base.endswith("Trainer") for base in bases):
        yield "self.args.device"
    elif "pl_module" in given:
        yield "pl_module.device"
    elif any(base.endswith("LightningModule") for base in bases):
        yield "self.device"


def _destinations(source: Source, scope: ast.AST, bound: set[str]) -> Iterator[str]:
    """Where other moves in ``scope`` go: ``self.first`` of ``x.to(self.first)``."""
    for node in ast.walk(scope):
        if moved(node) is not None and isinstance(node, ast.Call) and function_name(node) == "to":
            for given in node.args[:1]:
                if isinstance(given, (ast.Name, ast.Attribute, ast.Subscript)) and _root(given) in bound - {"torch"}:
                    yield source.segment(given)


def _given_to_modules(function: ast.AST) -> Iterator[str]:
    """The arguments of a forward that it hands to its modules first: tensors, on the device of this call."""
    if not isinstance(function, ast.FunctionDef) or function.name != "forward":
        return
    names = [each.arg for each in function.args.args[1:]]
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and own_attribute(node.func):
            yield from (each.id for each in node.args[:1] if isinstance(each, ast.Name) and each.id in names)


def _tensors(function: ast.AST) -> Iterator[str]:
    """The arguments of ``function`` that are used as tensors are."""
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    used = {
        node.value.id for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _OF_TENSORS
    }  # fmt: skip
    for node in ast.walk(function) if function.name != "__init__" else ():  # its arguments are sizes
        if isinstance(node, ast.BinOp):
            used |= {side.id for side in (node.left, node.right) if isinstance(side, ast.Name)}
    used -= _numbers(function)
    for each in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]:
        if each.arg in used and each.arg not in ("self", "cls"):
            yield each.arg


def _numbers(function: ast.AST) -> set[str]:
    """The names in ``function`` that give a size or a count: ``n`` of ``range(n)`` and of ``torch.zeros(n, 2 * n)``."""
    calls = (each for each in ast.walk(function) if isinstance(each, ast.Call))
    given = (each for call in calls if function_name(call) in FACTORIES | _OF_NUMBERS for each in call.args)
    sizes = (each for one in given for each in (one.elts if isinstance(one, (ast.Tuple, ast.List)) else [one]))
    return {each.id for size in sizes for each in _terms(size) if isinstance(each, ast.Name)}


def _terms(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp):
        yield from (*_terms(node.left), *_terms(node.right))
    else:
        yield node


def _modules(source: Source, function: ast.AST, bound: set[str]) -> Iterator[str]:
    """What is asked for its parameters in ``function``; in a main program the names say where things are."""
    if isinstance(function, ast.Module):
        return
    for node in own_nodes(function):
        if isinstance(node, ast.Attribute) and node.attr == "parameters" and _root(node) in bound - {"self"}:
            yield source.segment(node.value)


def _is_known(source: Source, inside: ast.ClassDef | None, expression: ast.expr, bound: set[str]) -> bool:
    """Whether ``expression``, which stands elsewhere, means something where ``bound`` are the names: none is another
    function's, and no attribute another class's."""
    nodes = list(ast.walk(expression))
    names = {each.id for each in nodes if isinstance(each, ast.Name)} - bound
    attributes = {own_attribute(each) for each in nodes} - {""}
    return (
        _root(expression) in bound
        and all(hasattr(builtins, each) for each in names - _of_file(source))
        and attributes <= _attributes_of(source, inside)
    )


def _of_file(source: Source) -> set[str]:
    """The functions and classes that a file defines, and what it imports."""
    names: set[str] = set()
    for each in source.tree.body:
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(each.name)
        elif isinstance(each, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in each.names}
    return names


def _attributes_of(source: Source, inside: ast.ClassDef | None) -> set[str]:
    """The attributes of self that a class and its bases in the same file speak of."""
    classes = {each.name: each for each in ast.walk(source.tree) if isinstance(each, ast.ClassDef)}
    waiting, seen = [inside] if inside is not None else [], set()
    found: set[str] = set()
    while waiting:
        kind = waiting.pop()
        if kind in seen:
            continue
        seen.add(kind)
        found |= {own_attribute(each) for each in ast.walk(kind)}
        waiting += [classes[base.id] for base in kind.bases if isinstance(base, ast.Name) and base.id in classes]
    return found


def _receiver(node: ast.expr) -> ast.expr:
    """``scores`` of ``scores.softmax(-1)``: what such methods of a tensor return is where the tensor is."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STAYING:
        node = node.func.value
    return node


def parsed(text: str | None) -> ast.expr | None:
    """Returns the expression that ``text`` is; None where it is none."""
    try:
        return ast.parse(text, mode="eval").body if text else None
    except SyntaxError:
        return None


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


__all__ = ["HOST", "LITERAL", "devices", "names_bound", "own_nodes", "parsed", "positional"]
