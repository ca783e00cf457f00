"""What the installed transformers accepts: the arguments of its Trainer, and of the classes that configure it.

Read from its source, which is not imported. A class of arguments is a dataclass; the fields of its base come with it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from devsan.doctor.packages import version

_ARGUMENTS, _SEQ2SEQ, _TRAINER = "TrainingArguments", "Seq2SeqTrainingArguments", "Trainer"


@dataclass(frozen=True)
class Signatures:
    """The keywords of classes of transformers.

    Attributes:
        version: of transformers.
        taken: by class; nothing of one that could not be read.
    """

    version: str = ""
    taken: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def of(self, name: str) -> frozenset[str]:
        """Returns the keywords of the class ``name``; nothing where they are not known."""
        return self.taken.get(name, frozenset())

    @property
    def parsed(self) -> frozenset[str]:
        """Returns what HfArgumentParser takes for the Trainer's arguments; nothing where they were not read."""
        return self.of(_SEQ2SEQ) | self.of(_ARGUMENTS)


@cache
def signatures() -> Signatures:
    """Returns what the installed transformers takes; nothing where there is none."""
    try:
        spec = find_spec("transformers")
    except (ImportError, ValueError):
        return Signatures()
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    return read_signatures(Path(folders[0]), version("transformers")) if folders else Signatures()


def read_signatures(folder: Path, version: str = "") -> Signatures:
    """Returns what the files of transformers in ``folder`` say."""
    read: dict[str, frozenset[str]] = {}
    plain = _fields(folder / "training_args.py", _ARGUMENTS)
    if plain:
        read[_ARGUMENTS] = plain
        more = _fields(folder / "training_args_seq2seq.py", _SEQ2SEQ)
        if more:
            read[_SEQ2SEQ] = plain | more
    taken = _parameters(folder / "trainer.py", _TRAINER)
    return Signatures(version, {**read, _TRAINER: taken} if taken else read)


def _fields(file: Path, name: str) -> frozenset[str]:
    found = _class(file, name)
    return frozenset(
        each.target.id
        for each in (found.body if found is not None else ())
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    )


def _parameters(file: Path, name: str) -> frozenset[str]:
    """The parameters of ``__init__``; nothing where it takes any keyword."""
    found = _class(file, name)
    for each in found.body if found is not None else ():
        if isinstance(each, ast.FunctionDef) and each.name == "__init__" and each.args.kwarg is None:
            return frozenset(argument.arg for argument in (*each.args.args[1:], *each.args.kwonlyargs))
    return frozenset()


def _class(file: Path, name: str) -> ast.ClassDef | None:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return next((each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == name), None)
