"""Check that the sources keep to the order of the layers (ARCHITECTURE.md), and print every line that does not.

C++: a folder of core/ includes only the folders that LAYERS and SUBLAYERS allow it; torch stays out of the folders that
are tested with hand-written facts; only the folders in REGISTRARS see torch's registration header.
Python: what runs inside every `import torch`, every `import devsan` and every pytest run imports nothing heavy.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

# Each folder of core/, with the folders it may include besides itself.
LAYERS: dict[str, frozenset[str]] = {
    "model": frozenset(),
    "memory": frozenset({"model"}),
    "diagnose": frozenset({"model", "memory"}),
    "record": frozenset({"model"}),
    "guard": frozenset({"model", "memory", "record"}),
    "emulate": frozenset({"model", "memory", "record"}),
    "collectives": frozenset({"model", "memory", "record", "emulate"}),
    "intercept": frozenset({"model", "memory", "diagnose", "record", "guard", "emulate"}),
    "bindings": frozenset({"model", "memory", "diagnose", "record", "guard", "emulate", "collectives", "intercept"}),
}
# The folders within a folder of core/, in order: each may include itself and those before it.
SUBLAYERS: dict[str, tuple[str, ...]] = {"emulate": ("runtime", "calls", "operators")}
WITHOUT_TORCH = frozenset({"model", "memory", "record", "diagnose"})
TORCH_FOLDERS = frozenset({"torch", "ATen", "c10", "caffe2", "torchgen"})
# emulate is here for the types that the header declares; it must register nothing.
REGISTRARS = frozenset({"intercept", "emulate"})

LIGHT_MODULES = ("devsan", "devsan.options", "devsan.profiles", "devsan.autoload", "devsan.testing.plugin")
HEAVY_PACKAGES = frozenset({"torch", "rich", "numpy", "executing", "devsan._core"})

INCLUDE = re.compile(r'^\s*#\s*include\s*(?P<open>[<"])(?P<path>[^>"]+)[>"]')


def check_includes(root: Path) -> Iterator[str]:
    """Yield a sentence for each include of core/ that the layers forbid."""
    core = root / "core"
    for source in sorted(core.rglob("*")):
        folder, *rest = source.relative_to(core).parts
        if source.suffix not in {".h", ".cpp", ".inc"}:
            continue
        where = source.relative_to(root)
        if folder not in LAYERS:
            yield f"{where}: expected a folder of core/ to be one of {', '.join(LAYERS)}, got {folder}"
            continue
        if folder in SUBLAYERS and rest[0] not in SUBLAYERS[folder]:
            yield f"{where}: expected a file of {folder} to be in {', '.join(SUBLAYERS[folder])}, got {rest[0]}"
            continue
        for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), start=1):
            match = INCLUDE.match(line)
            if match:
                sentence = check_include(folder, match["path"], quoted=match["open"] == '"')
                if sentence is None and folder in SUBLAYERS:
                    sentence = check_sublayer(folder, rest[0], match["path"])
                if sentence:
                    yield f"{where}:{number}: {sentence}"


def check_include(folder: str, path: str, *, quoted: bool) -> str | None:
    """Return what is wrong with including `path` from core/`folder`, or None."""
    top = path.split("/")[0]
    if top in TORCH_FOLDERS:
        if folder in WITHOUT_TORCH:
            return f"expected {folder} to know nothing of torch, got <{path}>"
        if path == "torch/library.h" and folder not in REGISTRARS | {"bindings"}:
            return f"expected only intercept to register with torch, got <{path}> in {folder}"
        return None
    if top in LAYERS:
        if top != folder and top not in LAYERS[folder]:
            allowed = ", ".join(layer for layer in LAYERS if layer in LAYERS[folder]) or "no other folder"
            return f'expected {folder} to include {allowed}, got "{path}"'
        return None
    if quoted:
        return f'expected "folder/file" for a file of ours or <> for a library\'s, got "{path}"'
    return None


def check_sublayer(folder: str, sublayer: str, path: str) -> str | None:
    """Return what is wrong with including `path` from core/`folder`/`sublayer`, or None."""
    order = SUBLAYERS[folder]
    allowed = order[: order.index(sublayer) + 1]
    top, _, rest = path.partition("/")
    if top != folder or rest.split("/")[0] in allowed:
        return None
    return f'expected {folder}/{sublayer} to include {", ".join(allowed)} of {folder}, got "{path}"'


def check_imports(root: Path) -> Iterator[str]:
    """Yield a sentence for each heavy import that a light module reaches at module level."""
    seen: set[str] = set()
    waiting = list(LIGHT_MODULES)
    while waiting:
        module = waiting.pop()
        source = find_module(root, module)
        if module in seen or source is None:
            continue
        seen.add(module)
        package = module if source.name == "__init__.py" else module.rpartition(".")[0]
        tree = ast.parse(source.read_text(encoding="utf-8"), filename=str(source))
        for statement in module_level_imports(tree.body):
            names = list(imported_modules(statement, package))
            heavy = next((name for name in names if is_heavy(name)), None)
            if heavy:
                where = f"{source.relative_to(root)}:{statement.lineno}"
                yield f"{where}: expected {module} to import nothing heavy at module level, got {heavy}"
            waiting.extend(name for name in names if name.split(".")[0] == "devsan" and not is_heavy(name))


def is_heavy(module: str) -> bool:
    """Return whether importing `module` takes time that a light module must not take."""
    return any(module == heavy or module.startswith(heavy + ".") for heavy in HEAVY_PACKAGES)


def find_module(root: Path, module: str) -> Path | None:
    """Return the file of `module` under `root`; None for one that is not there (yet), or a name inside a module."""
    base = root.joinpath(*module.split("."))
    for candidate in (base / "__init__.py", base.with_suffix(".py")):
        if candidate.is_file():
            return candidate
    return None


def module_level_imports(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that run when the module is imported: not those of functions, nor those for type checkers."""
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield statement
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        elif isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            yield from module_level_imports(statement.orelse)
        else:
            for field in ("body", "orelse", "finalbody"):
                yield from module_level_imports(getattr(statement, field, []))
            for handler in getattr(statement, "handlers", []):
                yield from module_level_imports(handler.body)


def imported_modules(statement: ast.Import | ast.ImportFrom, package: str) -> Iterator[str]:
    """Yield the absolute names that `statement` imports; a name taken from a package may be a module too."""
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
        return
    base = statement.module or ""
    if statement.level:
        parents = package.split(".")
        kept = parents[: len(parents) - statement.level + 1]
        base = ".".join([*kept, base] if base else kept)
    yield base
    yield from (f"{base}.{alias.name}" for alias in statement.names)


def main(arguments: list[str]) -> int:
    """Check the tree given, or this one; return the number of the exit status."""
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    sentences = [*check_includes(root), *check_imports(root)]
    for sentence in sentences:
        print(sentence)
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
