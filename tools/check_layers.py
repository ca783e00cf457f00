"""Check that the sources keep to the order of the layers (ARCHITECTURE.md), and print every line that does not.

A folder of core/ includes only the folders that LAYERS and SUBLAYERS allow it; torch stays out of the folders that are
tested with hand-written facts; only the folders in REGISTRARS see torch's registration header; only
VERSION_QUESTIONS, and in Python only ASKING_FOLDER, ask which torch is there. Python's floors are checked by
import-linter and tools/check_imports.py.
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
    "record": frozenset({"model", "memory"}),
    "order": frozenset({"model", "record"}),
    "plan": frozenset(),
    "guard": frozenset({"model", "memory", "record"}),
    "emulate": frozenset({"model", "memory", "record", "order"}),
    "collectives": frozenset({"model", "memory", "record", "order", "emulate"}),
    "intercept": frozenset({"model", "memory", "diagnose", "record", "order", "guard", "emulate"}),
    "bindings": frozenset(
        {"model", "memory", "diagnose", "record", "order", "plan", "guard", "emulate", "collectives", "intercept"}
    ),
}
# The folders within a folder of core/, in order: each may include itself and those before it.
SUBLAYERS: dict[str, tuple[str, ...]] = {"emulate": ("runtime", "calls", "operators")}
WITHOUT_TORCH = frozenset({"model", "memory", "record", "order", "diagnose", "plan"})
TORCH_FOLDERS = frozenset({"torch", "ATen", "c10", "caffe2", "torchgen"})
# emulate is here for the types that the header declares; it must register nothing.
REGISTRARS = frozenset({"intercept", "emulate"})

# Files of core/ that ask which torch they are built for: the answer is a memory::TorchRelease, which sentences compare.
VERSION_QUESTIONS = frozenset({"core/emulate/runtime/device.cpp"})

# The folder of devsan/ that asks which names torch has, and knows the CUDA build of each of its versions.
ASKING_FOLDER = "devsan/cuda"

TORCH_VERSION = re.compile(r"\b(TORCH_VERSION|TORCH_VERSION_(MAJOR|MINOR|PATCH))\b")
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


def check_versions(root: Path) -> Iterator[str]:
    """Yield a sentence for each line of core/ that asks for the version of torch where none may."""
    for source in sorted((root / "core").rglob("*")):
        where = source.relative_to(root).as_posix()
        if source.suffix not in {".h", ".cpp", ".inc"} or where in VERSION_QUESTIONS:
            continue
        for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), start=1):
            if match := TORCH_VERSION.search(line):
                asked = ", ".join(sorted(VERSION_QUESTIONS))
                yield f"{where}:{number}: expected only {asked} to ask for torch's version, got {match[0]}"


def check_python_versions(root: Path) -> Iterator[str]:
    """Yield a sentence for each place in devsan/ that tells versions of torch apart where none may."""
    for source in sorted((root / "devsan").rglob("*.py")):
        where = source.relative_to(root).as_posix()
        if where.startswith(ASKING_FOLDER + "/"):
            continue
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"), filename=str(source))):
            if asks_for_torch(node):
                yield f"{where}:{node.lineno}: expected only {ASKING_FOLDER} to ask which torch it is"


def asks_for_torch(node: ast.AST) -> bool:
    """Return whether `node` compares torch's version, or asks whether torch has a name."""
    if isinstance(node, ast.Compare):
        return any("torch.__version__" in ast.unparse(side) for side in (node.left, *node.comparators))
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "hasattr" and node.args:
        return re.match(r"torch\b", ast.unparse(node.args[0])) is not None
    return False


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


def main(arguments: list[str]) -> int:
    """Check the tree given, or this one; return the number of the exit status."""
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    sentences = [*check_includes(root), *check_versions(root), *check_python_versions(root)]
    for sentence in sentences:
        print(sentence)
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
