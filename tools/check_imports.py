"""Check what Python files import, and where, and print every line that does not keep to the rules (ARCHITECTURE.md).

DevSan's own modules and Python's are imported at the top of a file. An import inside of a function loads a library
late, or goes through one of DOORS. What runs inside every `import torch`, every `import devsan`, every pytest run and
every `devsan` imports nothing heavy at the top, and nothing that is behind a door.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Door(NamedTuple):
    """A module, or a package, that may be imported late, the files that may do it, and why."""

    module: str
    importers: tuple[str, ...]
    why: str


DOORS = (
    Door("importlib", ("devsan/__init__.py",), "import devsan imports nothing at all"),
    Door("devsan.session", ("devsan/autoload.py",), "import torch without DEVSAN_OPTIONS imports nothing"),
    Door("devsan.errors", ("devsan/autoload.py",), "import torch without DEVSAN_OPTIONS imports nothing"),
    Door("devsan._core", ("devsan/core_library.py",), "it is linked against one torch, which is looked at first"),
    Door("devsan.cuda", ("devsan/emulation.py",), "it imports torch and the core"),
    Door("devsan.full_size", ("devsan/emulation.py",), "full-size alone needs it, with what reports are made with"),
    Door("devsan.large_models", ("devsan/emulation.py",), "it imports torch and the core"),
    Door("devsan.sample", ("devsan/emulation.py",), "a sample of ranks alone needs it, with torch.distributed"),
    Door("devsan.blocks.in_program", ("devsan/emulation.py",), "the rehearsals of devsan plan alone need it"),
    Door(
        "devsan.running.progress",
        ("devsan/running/steps.py",),
        "it has the core, and changes what is imported",
    ),
    Door("devsan.policy", ("devsan/emulation.py",), "policy=warn alone needs it, with what reports are made with"),
    Door("devsan.caught", ("devsan/emulation.py",), "it imports the core"),
    Door("devsan.streams.watch", ("devsan/emulation.py",), "check=streams alone needs it, with what makes reports"),
    Door("devsan.failure_report", ("devsan/error_report.py", "devsan/checks.py"), "most programs have no device error"),
    Door("devsan.render.known_error", ("devsan/error_report.py",), "as above, for what prints"),
    Door("devsan.introspect.provenance.shown", ("devsan/checks.py",), "devsan.where alone needs it"),
    Door("devsan.introspect.explain", ("devsan/checks.py",), "devsan.findings alone needs it"),
    Door("devsan.doctor.live.beside", ("devsan/failure_report.py",), "the report is printed first"),
    Door("devsan.doctor.live.check", ("devsan/doctor/__init__.py",), "devsan.doctor(model) alone needs it"),
    Door("devsan.run_files.document", ("devsan/job/member.py",), "a rank with a finding alone needs it"),
    Door("devsan.job.record", ("devsan/job/member.py",), "ranks alone need it"),
    Door("devsan.job.ranks", ("devsan/job/member.py",), "a rank that ends needs it, with what looks at a program"),
    Door(
        "devsan.job.finalize",
        ("devsan/job/member.py", "devsan/job/supervisor.py", "devsan/job/watchdog.py"),
        "the end of a job needs it, with what reports are made with",
    ),
    Door("devsan.options", ("devsan/job/watchdog.py",), "the end of a job needs it"),
    Door("multiprocessing", ("devsan/multiprocessing_hooks.py",), "it is there in its own children alone"),
    Door(
        "importlib.metadata",
        ("devsan/cli/program.py", "devsan/render/sarif.py"),
        "it imports the parser of mails",
    ),
)  # Files that stand in every run and seldom have anything to do: they import what they need when they have.
WAITING = {
    "devsan/caught.py": "it works where a call is refused, and at the end where that error was caught",
    "devsan/doctor/live/watch.py": "it looks at a program at the first step of an optimizer",
    "devsan/run_files/recording.py": "it works where a run file is written",
    "devsan/overlay/startup/sitecustomize.py": "Python runs it at its start, in every child of an experiment",
}

# Files that import modules by names which are only known then.
BY_NAME = frozenset({
    "devsan/__init__.py", "devsan/cli/main.py", "devsan/diagnostics/detectors.py", "devsan/owners/__init__.py",
    "devsan/fix/candidates/__init__.py", "devsan/fix/stage.py", "devsan/render/formats.py",
})  # fmt: skip

LIGHT_MODULES = (
    "devsan", "devsan.errors", "devsan.options", "devsan.profiles", "devsan.autoload", "devsan.session",
    "devsan.post_mortem", "devsan.cli.main", "devsan.testing.plugin",
)  # fmt: skip
HEAVY_PACKAGES = frozenset({"torch", "rich", "numpy", "executing"}) | {
    door.module for door in DOORS if door.module.startswith("devsan.") and door.module not in LIGHT_MODULES
}


def check_late_imports(root: Path) -> Iterator[str]:
    """Yield a sentence for each import inside of a function that goes through no door, and for each unused door."""
    used: set[tuple[str, str]] = set()
    for source in sorted((root / "devsan").rglob("*.py")):
        file = source.relative_to(root).as_posix()
        if file in WAITING:
            continue
        package = ".".join(source.parent.relative_to(root).parts)
        tree = ast.parse(source.read_text(encoding="utf-8"), filename=str(source))
        if file not in BY_NAME:
            for line in imports_by_name(tree):
                yield f"{file}:{line}: expected an import statement, got an import by a name"
        for statement in late_imports(tree):
            for module in late_modules(root, statement, package):
                doors = [door.module for door in DOORS if file in door.importers and is_in(module, door.module)]
                used.update((file, door) for door in doors)
                if not doors and module.split(".")[0] in {"devsan", *sys.stdlib_module_names}:
                    yield f"{file}:{statement.lineno}: expected the import of {module} at the top of the file"
    for door in DOORS:
        for file in door.importers:
            if (root / file).is_file() and file not in WAITING and (file, door.module) not in used:
                yield f"{file}: expected a late import of {door.module}, got none: its door can go"


def late_imports(tree: ast.AST, late: bool = False) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports inside of functions."""
    for node in ast.iter_child_nodes(tree):
        if late and isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        yield from late_imports(node, late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def late_modules(root: Path, statement: ast.Import | ast.ImportFrom, package: str) -> set[str]:
    """Return the modules that `statement` imports: those of a package, else the one that it takes names from."""
    if isinstance(statement, ast.Import):
        return {alias.name for alias in statement.names}
    base, *names = imported_modules(statement, package)
    modules = {name for name in names if base == "devsan" or find_module(root, name) is not None}
    return modules or {base}


def imports_by_name(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that call `import_module` or `__import__`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__"):
            yield node.lineno


def is_in(module: str, package: str) -> bool:
    """Return whether `module` is `package`, or in it."""
    return module == package or module.startswith(package + ".")


def check_light_modules(root: Path) -> Iterator[str]:
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
    return any(is_in(module, heavy) for heavy in HEAVY_PACKAGES)


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
    sentences = [*check_light_modules(root), *check_late_imports(root)]
    for sentence in sentences:
        print(sentence)
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
