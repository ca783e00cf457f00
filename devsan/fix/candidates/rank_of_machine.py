"""A rank that counts over all machines is no number of a GPU: the rank within the machine is.

The launchers tell both (torch/distributed/run.py): RANK, which ``get_rank()`` returns, and LOCAL_RANK.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from devsan.diagnostics.messages import message
from devsan.fix.calls import function_name
from devsan.fix.change import Change
from devsan.fix.failure import Failure
from devsan.fix.loading import OWN_GPU, OWN_NUMBER, importing
from devsan.fix.source import source_of

_DOUBT = 5
_KEYWORDS = ("device", "device_ids", "output_device", "device_id")
_METHODS = ("set_device", "cuda", "to")


def propose(failure: Failure) -> Iterator[Change]:
    """Yields for each file the rank within the machine, wherever the rank of the job is given as a device."""
    if failure.finding["kind"] != "ordinal" or failure.finding["rank"] is None:
        return
    for path in failure.own_paths:
        source = source_of(path)
        if source is None:
            continue
        ranks = {target.id for node in ast.walk(source.tree) if isinstance(node, ast.Assign) and _is_rank(node.value)
                 for target in node.targets if isinstance(target, ast.Name)}  # fmt: skip
        edits = [
            source.replace(node, OWN_GPU if isinstance(node, ast.JoinedStr) else OWN_NUMBER)
            for node in _devices(source.tree)
            if any(_is_rank(each) or (isinstance(each, ast.Name) and each.id in ranks) for each in ast.walk(node))
        ]
        if edits:
            text = message("take the GPU of the rank within its machine, not of the rank of the job")
            yield Change(text, "use_site", (*importing(source, "os"), *edits), "DV115", _DOUBT)


def _is_rank(node: ast.AST) -> bool:
    """``dist.get_rank()``, ``int(os.environ["RANK"])``."""
    if not isinstance(node, ast.Call):
        return False
    return function_name(node) == "get_rank" or bool(re.search(r"environ.*['\"]RANK['\"]", ast.unparse(node)))


def _is_device(text: ast.JoinedStr) -> bool:
    """``f"cuda:{rank}"``."""
    start, number = text.values if len(text.values) == 2 else (None, None)
    return isinstance(start, ast.Constant) and start.value == "cuda:" and isinstance(number, ast.FormattedValue)


def _devices(tree: ast.AST) -> Iterator[ast.expr]:
    """What is given as the number of a GPU, or as text with one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and _is_device(node):
            yield node
        if not isinstance(node, ast.Call):
            continue
        given = [each.value for each in node.keywords if each.arg in _KEYWORDS]
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            given += node.args[:1]
        if function_name(node) == "device":
            given += node.args[-1:] + [each.value for each in node.keywords if each.arg == "index"]
        for each in given:
            elements = each.elts if isinstance(each, ast.List) else [each]
            yield from (element for element in elements if isinstance(element, ast.Name) or _is_rank(element))
