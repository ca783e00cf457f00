"""Where a script chooses its GPU by its rank in the whole job: on the second machine no GPU has such a number."""

from __future__ import annotations

import ast
import re
from collections import Counter

from devsan.diagnostics.diagnostic import Place
from devsan.doctor.chosen_device import chooses
from devsan.doctor.script_place import place_of

_CALLS = ("dist.get_rank()", "torch.distributed.get_rank()", "get_rank()")
_OF_ENVIRONMENT = re.compile(r"(os\.)?(environ\['RANK'\]|(environ\.get|getenv)\('RANK'(, [\w']+)?\))")


def read_global_rank(tree: ast.Module, file: str) -> Place | None:
    """Returns the first such place; None without one. A name counts where nothing but the rank is bound to it."""
    ranks: Counter[str] = Counter()
    bound: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound[node.id] += 1
        elif isinstance(node, ast.arg):
            bound[node.arg] += 1
        elif isinstance(node, ast.alias):
            bound[node.asname or node.name] += 1
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _is_rank(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            ranks.update(target.id for target in targets if isinstance(target, ast.Name))
    names = {name for name, times in ranks.items() if bound[name] == times}

    def is_it(node: ast.AST) -> bool:
        return _is_rank(node) or (isinstance(node, ast.Name) and node.id in names)

    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Call | ast.keyword))
    use = next((node for node in nodes if chooses(node, is_it)), None)
    return None if use is None else place_of(use, file)


def _is_rank(node: ast.AST) -> bool:
    """Whether it is ``dist.get_rank()`` or ``int(os.environ["RANK"])``."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name) and node.func.id == "int" and len(node.args) == 1:
        return _OF_ENVIRONMENT.fullmatch(ast.unparse(node.args[0])) is not None
    return ast.unparse(node) in _CALLS
