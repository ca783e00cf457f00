"""The Python text of a program: its file and the modules that it imports from its own folder. Nothing is imported."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from importlib.machinery import PathFinder
from pathlib import Path

_MAX_FILES = 200


def names(text: str, spelling: str) -> bool:
    """Whether a program's text names an option such as ``--gpus``, or something that parsers make one of.

    The spelling itself, also as the beginning of a longer one, which argparse abbreviates; a parameter (fire, typer,
    click), an annotated field (HfArgumentParser, tyro) or a string (absl, getopt) of the option's name.
    """
    if re.search(rf"(?<![\w-]){re.escape(spelling)}", text):
        return True
    name = spelling.lstrip("-")
    written = {name, name.replace("-", "_")}
    if len(name) == 1 or not any(each in text for each in written):
        return False
    tree = _parsed(text)
    return tree is not None and any(_is_called(node, each) for node in ast.walk(tree) for each in written)


def _is_called(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.arg):
        return node.arg == name
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name) and node.target.id == name
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.rstrip("=") == name


def texts(file: Path, root: Path) -> Iterator[str]:
    """Yields the text of a file and of what it imports, and so on, as far as that lies in ``root``.

    Args:
        file: a script, or a folder with a ``__main__.py``.
        root: the folder that is first on the program's path.
    """
    waiting = [file / "__main__.py" if file.is_dir() else file]
    seen = set(waiting)
    while waiting and len(seen) <= _MAX_FILES:
        file = waiting.pop()
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, ValueError):  # a zip file, another encoding
            continue
        yield text
        found = set(_imported(text, file, root)) - seen
        seen |= found
        waiting += found


def script_among(words: Sequence[str]) -> int:
    """Returns which word of a command names the Python file that it runs; their number if none does."""
    return next((at for at, word in enumerate(words) if word.endswith(".py") and Path(word).is_file()), len(words))


def find_module(name: str) -> Path | None:
    """Returns the file of a module of ``python -m``, or None; unlike importlib.util it imports no parent package."""
    path: list[str] | None = None
    spec = None
    for part in name.split("."):
        spec = PathFinder.find_spec(part, path)
        if spec is None:
            return None
        path = list(spec.submodule_search_locations or ())
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin)
    return file.with_name("__main__.py") if path else file


def _parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # python says them itself when it runs the program
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _imported(text: str, file: Path, root: Path) -> Iterator[Path]:
    tree = _parsed(text)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(root, alias.name)
        elif isinstance(node, ast.ImportFrom):
            folder = file.parents[node.level - 1] if 0 < node.level <= len(file.parents) else root
            for name in ("", *(alias.name for alias in node.names)):
                yield from _files(folder, ".".join(filter(None, (node.module, name))))


def _files(folder: Path, module: str) -> Iterator[Path]:
    path = folder.joinpath(*module.split(".")) if module else folder
    for file in (path.with_suffix(".py") if module else path, path / "__init__.py"):
        if file.is_file():
            yield file
