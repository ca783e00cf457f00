"""What a module's entries are given."""

from __future__ import annotations

import ast
import re

from devsan.diagnostics.torch_names import FACTORIES
from devsan.doctor.source.places import INPUTS
from devsan.doctor.source.values import NONE, UNKNOWN, Tensor, Value

_SIZES = re.compile(
    r"(^|_)(len|length|size|sizes|num|n|count|idx|index|step|steps|offset|shape|device|dtype|name|path|prompt|prompts|"
    r"text|texts|config|args|mode|layer|dim|height|width|level|batch_idx|images|urls|sentences|seed|lengths)$"
)


_OF_TENSORS = {
    "shape",
    "size",
    "device",
    "dtype",
    "view",
    "dim",
    "ndim",
    "reshape",
    "unsqueeze",
    "permute",
    "transpose",
}


def inputs_of(definition: ast.FunctionDef | ast.AsyncFunctionDef, optional: bool = True) -> list[Value]:
    """Returns what a module's entry is given, after ``self``: a tensor wherever that is plain to see.

    Args:
        definition: of the method.
        optional: give it also what it takes None for; the first input is always given.
    """
    parameters = [*definition.args.posonlyargs, *definition.args.args][1:]
    defaults = dict(zip(reversed([each.arg for each in parameters]), reversed(definition.args.defaults), strict=False))
    used = _used_as_tensors(definition)
    values: list[Value] = []
    for number, parameter in enumerate(parameters):
        if parameter.annotation is not None:
            tensor = _names_tensor(parameter.annotation)
        else:
            default = defaults.get(parameter.arg)
            plain = isinstance(default, ast.Constant) and default.value is not None
            first = number == 0 and default is None and not _SIZES.search(parameter.arg)
            tensor = not plain and (
                parameter.arg in used or (first and not _sizes_something(definition, parameter.arg))
            )
        if number and not optional and _is_none(defaults.get(parameter.arg)):
            values.append(NONE if tensor else UNKNOWN)
        else:
            values.append(Tensor(INPUTS, None, how="given") if tensor else UNKNOWN)
    return values


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _names_tensor(annotation: ast.expr) -> bool:
    text = ast.unparse(annotation)
    if re.search(r"\b([Ll]ist|[Tt]uple|[Dd]ict|Sequence|Iterable|Mapping|Callable|int|float|bool|str|ndarray)\b", text):
        return False
    return bool(re.search(r"\b(Float|Long|Bool|Int|Half|Double)?Tensor\b", text))


def _used_as_tensors(definition: ast.AST) -> set[str]:
    return {
        node.value.id
        for node in ast.walk(definition)
        if isinstance(node, ast.Attribute) and node.attr in _OF_TENSORS and isinstance(node.value, ast.Name)
    }


def _sizes_something(definition: ast.AST, name: str) -> bool:
    """Whether a parameter says how large something is to be."""
    return any(
        _called(node) in FACTORIES | {"range", "len", "int", "str"}
        and any(isinstance(each, ast.Name) and each.id == name for each in node.args)
        for node in ast.walk(definition)
        if isinstance(node, ast.Call)
    )


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
