"""What a call is given."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devsan.doctor.source import device_join
from devsan.doctor.source.definitions import Partial
from devsan.doctor.source.events import TensorInput
from devsan.doctor.source.objects import element_of
from devsan.doctor.source.scope import Scope
from devsan.doctor.source.values import Sequence, Table, Tensor, Value

if TYPE_CHECKING:
    from devsan.doctor.source.interpreter import Interpreter


class Arguments:
    """What a call is given.

    Attributes:
        node: the call.
        called: what is called.
        values: the positional arguments, and the expressions that give them.
        named: the keyword arguments.
        whole: nothing else is given (no ``*args`` or ``**kwargs`` of which the contents are not known).
        named_whole: nothing else is given by name.
        fields: a batch of which the fields are given by name.
    """

    def __init__(self, run: Interpreter, node: ast.Call, scope: Scope) -> None:
        """Evaluates the arguments of ``node``."""
        self.node = node
        self.called: ast.expr = node.func
        self.values: list[Value] = []
        self.nodes: list[ast.expr] = []
        self.named: dict[str, Value] = {}
        self.named_nodes: dict[str, ast.expr] = {}
        self.whole = self.named_whole = True
        self.fields: TensorInput | None = None
        for each in node.args:
            if isinstance(each, ast.Starred):
                value = run.value(each.value, scope)
                if isinstance(value, Sequence) and value.items is not None:
                    self.values.extend(value.items)
                    self.nodes.extend([each] * len(value.items))
                else:
                    self.whole = False
                    self.values.append(element_of(value))
                    self.nodes.append(each)
            else:
                self.values.append(run.value(each, scope))
                self.nodes.append(each)
        for keyword in node.keywords:
            value = run.value(keyword.value, scope)
            if keyword.arg is not None:
                self.named[keyword.arg] = value
                self.named_nodes[keyword.arg] = keyword.value
            elif isinstance(value, Table):
                self.named.update({str(key): each for key, each in value.items})
                self.named_nodes.update({str(key): keyword.value for key, _ in value.items})
                self.whole = self.whole and value.whole
                self.named_whole = self.named_whole and value.whole
            else:
                self.whole = self.named_whole = False
                if isinstance(value, Tensor) and value.how in ("loaded", "batch"):
                    self.fields = TensorInput(value, keyword.value)

    def after(self, partial: Partial) -> Arguments:
        """Returns these arguments behind those that a partial function already has."""
        self.values = [*partial.values, *self.values]
        self.nodes = [*([self.node.func] * len(partial.values)), *self.nodes]
        for name, value in partial.named:
            self.named.setdefault(name, value)
            self.named_nodes.setdefault(name, self.node.func)
        return self

    def get(self, name: str, position: int | None = None) -> Value | None:
        """Returns an argument by its name or position; None where it is not given."""
        if name in self.named:
            return self.named[name]
        if position is not None and position < len(self.values):
            return self.values[position]
        return None

    def tensors(self) -> list[TensorInput]:
        """Returns the tensors among the arguments, also those in lists, with the expressions that give them."""
        found = []
        for value, node in [
            *zip(self.values, self.nodes, strict=True),
            *((value, self.named_nodes[name]) for name, value in self.named.items()),
        ]:
            inner = value.items if isinstance(value, Sequence) and value.items is not None else None
            elements = inner if inner is not None else (value.any(),) if isinstance(value, Sequence) else (value,)
            at = node.elts if isinstance(node, ast.List | ast.Tuple) and len(node.elts) == len(elements) else None
            for number, each in enumerate(elements):
                tensor = device_join.as_tensor(each)
                if tensor is not None:
                    found.append(TensorInput(tensor, at[number] if at else node))
        return found
