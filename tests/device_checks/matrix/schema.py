"""Operators, their tensor operands, and calls whose operands can be exchanged one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._ops import OpOverload


def operators() -> Iterator[OpOverload]:
    """Every overload of every aten operator that the dispatcher knows, sorted by name."""
    for name in sorted(torch._C._dispatch_get_all_op_names()):
        if not name.startswith("aten::"):
            continue
        base, _, overload = name[len("aten::") :].partition(".")
        try:
            yield getattr(getattr(torch.ops.aten, base), overload or "default")
        except AttributeError:  # the JIT's own, which Python cannot name
            continue


def name_of(op: OpOverload) -> str:
    """As native_functions.yaml writes it: "add.Tensor", "mm"."""
    return op.name()[len("aten::") :]


def is_tensor(argument: Any) -> bool:
    """Whether a schema's argument takes a tensor, perhaps an optional one, or a list of them."""
    return "Tensor" in str(argument.type)


def is_tensor_list(argument: Any) -> bool:
    return "List[" in str(argument.type)


def tensor_count(op: OpOverload) -> int:
    """How many tensors the operator can take; a list counts for two."""
    return sum(1 + is_tensor_list(a) for a in op._schema.arguments if is_tensor(a))


@dataclass(frozen=True)
class Operand:
    """One tensor of a call: the argument's place in the schema, and its place in a list."""

    argument: int
    name: str
    element: int | None = None


@dataclass
class Call:
    """An operator with one value for each argument of its schema."""

    op: OpOverload
    values: list[Any]
    origin: str = ""
    operands: list[Operand] = field(init=False)

    def __post_init__(self) -> None:
        self.operands = []
        for place, (argument, value) in enumerate(zip(self.op._schema.arguments, self.values, strict=True)):
            if isinstance(value, torch.Tensor):
                self.operands.append(Operand(place, argument.name))
            elif isinstance(value, (list, tuple)):
                for element, item in enumerate(value):
                    if isinstance(item, torch.Tensor):
                        self.operands.append(Operand(place, f"{argument.name}[{element}]", element))

    def tensors(self) -> list[torch.Tensor]:
        """The operands' tensors, in the order of `operands`."""
        found: list[torch.Tensor] = []
        for operand in self.operands:
            value = self.values[operand.argument]
            found.append(value if operand.element is None else value[operand.element])
        return found

    def value(self, argument: str) -> Any:
        """The value of the argument of that name."""
        return next(v for v, a in zip(self.values, self.op._schema.arguments, strict=True) if a.name == argument)

    def mapped(self, change: Callable[[Operand, torch.Tensor], Any]) -> list[Any]:
        """The values, with each tensor replaced by `change(operand, tensor)`."""
        values = [list(v) if isinstance(v, (list, tuple)) else v for v in self.values]
        for operand in self.operands:
            if operand.element is None:
                values[operand.argument] = change(operand, values[operand.argument])
            else:
                values[operand.argument][operand.element] = change(operand, values[operand.argument][operand.element])
        return values

    def run(self, values: list[Any]) -> Any:
        """Calls the operator with these values: the keyword-only arguments by name, the others by place."""
        arguments = self.op._schema.arguments
        places = [v for v, a in zip(values, arguments, strict=True) if not a.kwarg_only]
        names = {a.name: v for v, a in zip(values, arguments, strict=True) if a.kwarg_only}
        return self.op(*places, **names)


def bound(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """A value for each argument of the schema, from how a program called it."""
    values = []
    for place, argument in enumerate(op._schema.arguments):
        if place < len(args) and not argument.kwarg_only:
            values.append(args[place])
        elif argument.name in kwargs:
            values.append(kwargs[argument.name])
        else:
            values.append(argument.default_value)
    return values
