"""Edits of expressions and statements, made by libcst, which keeps the formatting and the comments.

Each returns None where it is not sure of its text. libcst is imported here, when the first edit is made.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from devsan.diagnostics.diagnostic import Edit, Place
from devsan.doctor.source.source_file import SourceFile

if TYPE_CHECKING:
    import libcst


def with_argument(source: SourceFile, call: ast.AST, name: str, value: str, safe: bool = True) -> Edit | None:
    """Returns the edit that gives a call the keyword argument ``name``, or another value for it."""
    import libcst as cst

    tree = _parsed(source, call)
    if not isinstance(tree, cst.Call):
        return None
    if any(each.star == "**" for each in tree.args):
        return None
    made = cst.parse_expression(value)
    for number, each in enumerate(tree.args):
        if each.keyword is not None and each.keyword.value == name:
            changed = each.with_changes(value=made)
            return _edit(
                source, call, tree.with_changes(args=[*tree.args[:number], changed, *tree.args[number + 1 :]]), safe
            )
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    added = cst.Arg(value=made, keyword=cst.Name(name), equal=equal)
    arguments = list(tree.args)
    if arguments:
        # Behind the last one, whose comma and line break stay behind what is now the last.
        last = arguments[-1]
        added = added.with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
        space: libcst.BaseParenthesizableWhitespace = cst.SimpleWhitespace(" ")
        if len(arguments) > 1 and isinstance(arguments[-2].comma, cst.Comma):
            space = arguments[-2].comma.whitespace_after
        elif isinstance(tree.whitespace_before_args, cst.ParenthesizedWhitespace):
            space = tree.whitespace_before_args
        arguments[-1] = last.with_changes(
            comma=cst.Comma(whitespace_after=space), whitespace_after_arg=cst.SimpleWhitespace("")
        )
    return _edit(source, call, tree.with_changes(args=[*arguments, added]), safe)


def replaced(source: SourceFile, node: ast.AST, text: str, safe: bool = True) -> Edit | None:
    """Returns the edit that puts ``text`` in the place of an expression or statement."""
    place = source.place(node)
    before = source.between(place)
    return Edit(place, before, text, safe) if before and before != text and _is_whole(source, node) else None


def assigned(source: SourceFile, statement: ast.Expr, target: ast.expr, safe: bool = True) -> Edit | None:
    """Returns the edit that keeps the result of a statement: ``x.to(d)`` becomes ``x = x.to(d)``."""
    return replaced(source, statement, f"{source.segment(target)} = {source.segment(statement)}", safe)


def registered(source: SourceFile, statement: ast.Assign, name: str, safe: bool = True) -> Edit | None:
    """Returns the edit that makes ``self.name = value`` a buffer that checkpoints do not hold."""
    import libcst as cst

    tree = _parsed(source, statement.value)
    target = statement.targets[0]
    if tree is None or not isinstance(target, ast.Attribute):
        return None
    call = cst.parse_expression(f'{source.segment(target.value)}.register_buffer("{name}", _, persistent=False)')
    if not isinstance(call, cst.Call):
        return None
    arguments = list(call.args)
    arguments[1] = arguments[1].with_changes(value=tree)
    return replaced(source, statement, cst.Module([]).code_for_node(call.with_changes(args=arguments)), safe)


def removed(source: SourceFile, statement: ast.stmt, safe: bool = True) -> Edit | None:
    """Returns the edit that takes a statement away; ``pass`` stays where it is the only one of its block."""
    place = source.place(statement)
    line = source.line(place.line)
    behind = line[place.end_column - 1 :].strip()
    alone = place.line == place.end_line and not line[: place.column - 1].strip()
    if not alone or (behind and not behind.startswith("#")):
        return None
    block = next(source.parents(statement), None)
    for name in ("body", "orelse", "finalbody"):
        statements = getattr(block, name, None)
        if isinstance(statements, list) and statement in statements and len(statements) == 1:
            return replaced(source, statement, "pass", safe)
    ending = source.ending(place.line)
    if not ending:
        return None
    whole = Place(source.name, place.line, 1, place.line + 1, 1)
    return Edit(whole, line + ending, "", safe)


def inserted(source: SourceFile, statement: ast.stmt, text: str, safe: bool = True) -> Edit | None:
    """Returns the edit that puts a line before a statement, indented as it is."""
    place = source.place(statement)
    line = source.line(place.line)
    indent = line[: place.column - 1]
    if indent.strip() or not source.ending(place.line):
        return None
    start = Place(source.name, place.line, 1, place.line, 1)
    return Edit(start, "", f"{indent}{text}{source.ending(place.line)}", safe)


def _parsed(source: SourceFile, node: ast.AST) -> libcst.BaseExpression | None:
    """The expression as libcst has it; None where it does not read it as ast does."""
    import libcst as cst

    text = source.segment(node)
    try:
        tree = cst.parse_expression(text)
    except cst.ParserSyntaxError:
        return None
    return tree if cst.Module([]).code_for_node(tree) == text else None


def _edit(source: SourceFile, node: ast.AST, tree: libcst.BaseExpression, safe: bool) -> Edit | None:
    import libcst as cst

    return replaced(source, node, cst.Module([]).code_for_node(tree), safe)


def _is_whole(source: SourceFile, node: ast.AST) -> bool:
    """Whether the place of ``node`` is its text: not inside of an f-string, where ast counts otherwise."""
    if any(isinstance(each, ast.JoinedStr) for each in source.parents(node)):
        return False
    try:
        again = ast.parse(source.segment(node).strip())
    except SyntaxError:
        # A part of an expression that goes over lines, which stand in its parentheses.
        try:
            again = ast.parse(f"({source.segment(node)})")
        except SyntaxError:
            return False
    return len(again.body) == 1
