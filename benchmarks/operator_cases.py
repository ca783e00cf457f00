"""Operators on tiny tensors, by family: what DevSan adds to an operator shows where the arithmetic takes no time."""

from __future__ import annotations

from collections.abc import Callable

from arithmetic_cases import binary, comparison, in_place, out_given, reductions, several_results, unary
from network_cases import autograd, losses, networks, products, recurrent
from operands import Operands, Works
from shape_cases import foreach, indexing, joins, views
from tensor_cases import copies, factories, libraries, random, values

FAMILIES: dict[str, Callable[[Operands], Works]] = {
    "pointwise": unary,
    "binary": binary,
    "comparison": comparison,
    "in-place": in_place,
    "out=": out_given,
    "reduction": reductions,
    "several results": several_results,
    "view": views,
    "indexing": indexing,
    "join": joins,
    "foreach": foreach,
    "product": products,
    "network": networks,
    "loss": losses,
    "recurrent": recurrent,
    "factory": factories,
    "copy": copies,
    "value": values,
    "random": random,
    "library": libraries,
    "autograd": autograd,
}
