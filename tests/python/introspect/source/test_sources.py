"""The nodes of a function by their kind."""

from __future__ import annotations

import ast

import pytest

from devsan.introspect.source.sources import nodes_in

TREE = ast.parse(
    """\
for batch in loader:
    x, y = batch
    def step(x):
        total: int = x
        return [each for each in x]
    z = step(x)
"""
)


@pytest.mark.parametrize(
    "kinds", [(ast.Assign,), (ast.AnnAssign, ast.Assign), (ast.comprehension, ast.For, ast.Assign), (ast.While,)]
)
def test_they_are_those_of_ast_walk_in_its_order(kinds: tuple[type[ast.AST], ...]) -> None:
    assert nodes_in(TREE, *kinds) == [node for node in ast.walk(TREE) if isinstance(node, kinds)]


def test_a_function_has_its_own() -> None:
    (step,) = nodes_in(TREE, ast.FunctionDef)
    assert [ast.unparse(node) for node in nodes_in(step, ast.AnnAssign, ast.Assign)] == ["total: int = x"]
