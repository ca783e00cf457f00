"""The call in the user's script that loaded or dispatched a model: how to add to it, and how to write behind it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from devsan.diagnostics.diagnostic import Edit
from devsan.fix.source import Source

_MAP_POSITIONS = {"dispatch_model": 1, "load_checkpoint_and_dispatch": 2}
_WIDEST = 100  # characters of a map on one line
RANK = 'os.environ.get("LOCAL_RANK", 0)'
"""The number of a rank on its machine, as Python; the launchers all set it. See ``importing``."""

OWN_GPU = f'f"cuda:{{{RANK}}}"'.replace('"LOCAL_RANK"', "'LOCAL_RANK'")
OWN_NUMBER = f"int({RANK})"
"""The GPU of a rank, as the text of a device and as a number."""

_OTHER_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.BoolOp)


@dataclass(frozen=True)
class Loading:
    """A call that returns a model, or places one.

    Attributes:
        source: the file.
        call: in it.
        expression: how the program reached the model when it failed.
    """

    source: Source
    call: ast.Call
    expression: str

    @property
    def function(self) -> str:
        """Returns the last name of what is called: "from_pretrained", "dispatch_model"."""
        called = self.call.func
        return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""

    @property
    def takes_map(self) -> bool:
        """Returns whether it is given a device map."""
        return any(each.arg == "device_map" for each in self.call.keywords) or (
            _MAP_POSITIONS.get(self.function, len(self.call.args)) < len(self.call.args)
        )

    @property
    def statement(self) -> ast.stmt:
        """Returns the statement that it stands in."""
        return self.source.statement_around(self.call)

    def with_map(self, text: str) -> Edit | None:
        """Returns the edit that passes ``text`` as the device map; None where the call takes none."""
        for keyword in self.call.keywords:
            if keyword.arg == "device_map":
                return self.source.replace(keyword.value, text)
        position = _MAP_POSITIONS.get(self.function, len(self.call.args))
        if position < len(self.call.args):
            return self.source.replace(self.call.args[position], text)
        for keyword in reversed(self.call.keywords):
            if keyword.arg is None:
                before = self.source.segment(keyword.value)
                return self.source.replace(keyword.value, f'{{**{before}, "device_map": {text}}}')
        return None

    def then(self, lines: Sequence[str]) -> tuple[Edit, ...]:
        """Returns the edits that run ``lines`` behind the call, ``{model}`` being the model; none if it has no name."""
        statement, call = self.statement, self.call
        target = self._target()
        if target:
            return (self.source.insert_after(statement, [line.replace("{model}", target) for line in lines]),)
        if any(isinstance(node, _OTHER_SCOPES) for node in self._parents()):
            return ()
        name = self.unused("model")
        before = [f"{name} = {self.source.segment(call)}", *(line.replace("{model}", name) for line in lines)]
        return self.source.insert_before(statement, before), self.source.replace(call, name)

    def unused(self, name: str) -> str:
        """Returns ``name``, or a longer one where the function uses it for something else."""
        inside = ast.walk(self.source.function_around(self.call))
        used = {node.id for node in inside if isinstance(node, ast.Name)}
        return name if name not in used else f"placed_{name}" if name == "model" else f"each_{name}"

    def _target(self) -> str:
        """What holds the model behind the statement; "" where nothing does."""
        statement = self.statement
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target, value = statement.target, statement.value
        elif isinstance(statement, ast.Expr) and statement.value is self.call and self.call.args:
            return self.source.segment(self.call.args[0]) if self.function in _MAP_POSITIONS else ""
        else:
            return ""
        if value is not self.call or not isinstance(target, (ast.Name, ast.Attribute)):
            return ""
        name = self.source.segment(target)
        return self.expression if self.expression.startswith(f"{name}.") and self.function == "pipeline" else name

    def _parents(self) -> list[ast.AST]:
        found: list[ast.AST] = []
        node: ast.AST = self.call
        while not isinstance(node, ast.stmt):
            node = self.source.parents[node]
            found.append(node)
        return found


def importing(source: Source, module: str) -> tuple[Edit, ...]:
    """Returns the edit that has a file import ``module``; none where it does."""
    imports = [each for each in source.tree.body if isinstance(each, (ast.Import, ast.ImportFrom))]
    if any(isinstance(each, ast.Import) and module in [name.name for name in each.names] for each in imports):
        return ()
    later = [each for each in imports if getattr(each, "module", "") != "__future__"]
    return (source.insert_before((later or source.tree.body)[0], [f"import {module}"]),)


def map_text(device_map: Mapping[str, str], indent: str = "") -> str:
    """Returns a device map as Python: runs of numbered entries on one device as one comprehension."""
    items: list[str] = []
    for prefix, first, last, device in _runs(device_map):
        value = device.removeprefix("cuda:") if device.startswith("cuda:") else f'"{device}"'
        if first is None:
            items.append(f'"{prefix}": {value}')
        elif last - first < 2:
            items += [f'"{prefix}{number}": {value}' for number in range(first, last + 1)]
        else:
            items.append(f'**{{f"{prefix}{{number}}": {value} for number in range({first}, {last + 1})}}')
    line = f"{{{', '.join(items)}}}"
    if len(line) <= _WIDEST:
        return line
    return "\n".join(["{", *(f"{indent}    {item}," for item in items), f"{indent}}}"])


def _runs(device_map: Mapping[str, str]) -> list[tuple[str, int | None, int, str]]:
    """Entries as (key, None, 0, device), or (key without its number, first, last, device)."""
    found: list[tuple[str, int | None, int, str]] = []
    for key, device in device_map.items():
        prefix, _, number = key.rpartition(".")
        if not number.isdigit():
            found.append((key, None, 0, device))
            continue
        prefix += "."
        if found and found[-1][0] == prefix and found[-1][1] is not None:
            _, first, last, before = found[-1]
            if before == device and last + 1 == int(number):
                found[-1] = (prefix, first, int(number), device)
                continue
        found.append((prefix, int(number), int(number), device))
    return found
