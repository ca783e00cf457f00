"""What a training script says about its Trainer, its engine and its model, read and not run.

Only what stands there as a constant is known; `devsan.doctor.source` checks the placement in the source itself.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from devsan.diagnostics.diagnostic import Place
from devsan.diagnostics.messages import message
from devsan.doctor.global_rank import read_global_rank
from devsan.doctor.imports import Imports, read_imports
from devsan.doctor.local_rank import LocalRank, read_local_rank
from devsan.doctor.nodes import Malformed
from devsan.doctor.saves import Save, read_saves
from devsan.doctor.script_place import place_of

_MAX_BYTES = 2 << 20
_OF_TRANSFORMERS = ("TrainingArguments", "Seq2SeqTrainingArguments")
_CONFIGS = ("SFTConfig", "DPOConfig", "GRPOConfig", "ORPOConfig", "KTOConfig", "RewardConfig", "PPOConfig")


@dataclass(frozen=True)
class Argument:
    """A constant that is given by keyword."""

    value: Any
    place: Place
    shown: str


@dataclass(frozen=True)
class Call:
    """A call.

    Attributes:
        name: as it is written, "transformers.TrainingArguments".
        place: of the whole call.
        arguments: its keywords with constant values.
        given: all of its keywords, with the place of each.
        whole: every argument is known: no ``*args``, no ``**kwargs``.
        first: its first positional argument, if that is a text.
        classes: the names that its first positional argument is, or lists.
        dictionaries: the keywords whose value is a dictionary that is written out.
    """

    name: str
    place: Place
    arguments: Mapping[str, Argument]
    given: Mapping[str, Place]
    whole: bool
    first: str = ""
    classes: tuple[str, ...] = ()
    dictionaries: frozenset[str] = frozenset()

    def says(self, name: str) -> bool:
        """Returns whether the keyword is given, whatever its value."""
        return name in self.given


@dataclass(frozen=True)
class Parsed:
    """The Trainer's arguments as a parser of the command line makes them.

    Attributes:
        place: of the parser.
        own: the arguments whose defaults a class of the script sets itself.
        knows_all: whether the script itself has all classes that the parser is given, but for the Trainer's own.
    """

    place: Place
    own: frozenset[str]
    knows_all: bool = False


@dataclass(frozen=True)
class Script:
    """A script.

    Attributes:
        file: as it was named.
        imports: what it takes from modules, and by which names.
        calls: of it that are of interest, in order.
        derived: its classes of arguments, with what each sets itself.
        library_calls: of what it imports, given keywords; each by its full name, "accelerate.Accelerator".
        saves: where it writes the weights of its model itself.
        local_rank: the argument by which it chooses its device, where only the command line gives it.
        global_rank: where it chooses its device by its rank in the whole job.
        classes: that it defines, whose bases are none, or the Trainer's arguments.
        fields: that its classes give a value or a type.
        text: of it.
    """

    file: str
    imports: Imports = field(default_factory=Imports)
    calls: tuple[Call, ...] = field(default=())
    derived: Mapping[str, frozenset[str]] = field(default_factory=dict)
    library_calls: tuple[Call, ...] = ()
    saves: tuple[Save, ...] = ()
    local_rank: LocalRank | None = None
    global_rank: Place | None = None
    classes: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    text: str = ""

    def training_arguments(self) -> Call | None:
        """Returns the one call that makes the Trainer's arguments; None where there is none, or several."""
        found = [call for call in self.calls if _is_arguments(call.name)]
        return found[0] if len(found) == 1 else None

    def parsed_arguments(self) -> Parsed | None:
        """Returns the Trainer's arguments that the one HfArgumentParser makes; None where it makes none, or others."""
        found = self.named("HfArgumentParser")
        if len(found) != 1 or self.named("set_defaults"):
            return None
        made = [name for name in found[0].classes if name in self.derived or _is_arguments(name)]
        if len(made) != 1:
            return None
        own = self.derived.get(made[0])
        if own is None and _last(made[0]) not in _OF_TRANSFORMERS:
            return None  # of a library that sets defaults of its own
        known = all(name in self.classes or _last(name) in _OF_TRANSFORMERS for name in found[0].classes)
        return Parsed(found[0].place, own or frozenset(), known)

    def named(self, *names: str) -> list[Call]:
        """Returns the calls whose name ends with one of ``names``."""
        return [call for call in self.calls if _last(call.name) in names]

    def mentions(self, name: str) -> bool:
        """Returns whether its text has the word ``name``, as a name or in a string, where it may have dashes."""
        return re.search(rf"\b{re.escape(name).replace('_', '[-_]')}\b", self.text) is not None

    def uses(self, *packages: str) -> bool:
        """Returns whether it imports one of ``packages``."""
        return not self.imports.packages.isdisjoint(packages)


_OF_INTEREST = {
    "TrainingArguments", "Seq2SeqTrainingArguments", *_CONFIGS, "Trainer", "Accelerator", "DeepSpeedPlugin",
    "DeepSpeedStrategy", "FSDPStrategy", "FullyShardedDataParallelPlugin", "from_pretrained", "initialize",
    "BitsAndBytesConfig", "GPTQConfig", "AwqConfig", "DeepSpeedCPUAdam", "FusedAdam", "Adam", "AdamW", "SGD", "Adagrad",
    "DeepSpeedCPUAdagrad", "DeepSpeedCPULion", "Lion", "AdamW8bit", "PagedAdamW8bit", "PagedAdamW", "Adafactor",
    "HfArgumentParser", "set_defaults", "save_16bit_model", "DataParallel", "DistributedDataParallel",
}  # fmt: skip


def read_script(file: str) -> Script | Malformed | None:
    """Reads ``file``.

    Returns:
        The script; where its source is no Python; or None where it cannot be read, which `devsan.doctor.source` says.
    """
    try:
        with open(file, "rb") as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like are the program's own business
            data = stream.read(_MAX_BYTES + 1)
            if len(data) > _MAX_BYTES:
                return None
            tree = ast.parse(data)
    except SyntaxError as error:
        return Malformed(Place(file, error.lineno or 1, error.offset or 1), message("Python source"), error.msg)
    except (OSError, ValueError, RecursionError, MemoryError):
        return None
    imports = read_imports(tree, file)
    calls, library_calls = [], []
    derived = {}
    classes: list[str] = []
    fields: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = _name(node.func)
            if _last(name) in _OF_INTEREST:
                calls.append(_call(node, file))
            whole = imports.whole(name) if node.keywords and name == ast.unparse(node.func) else ""
            if whole:
                library_calls.append(replace(_call(node, file), name=whole))
        elif isinstance(node, ast.ClassDef):
            bases = [_last(_name(base)) in _OF_TRANSFORMERS for base in node.bases]
            fields |= {*_assigned(node)}
            if any(bases):
                derived[node.name] = frozenset(_assigned(node))
            if all(bases):
                classes.append(node.name)
    for found in (calls, library_calls):
        found.sort(key=lambda call: (call.place.line, call.place.column))
    return Script(file, imports, tuple(calls), derived, tuple(library_calls),
                  read_saves(tree, file), read_local_rank(tree, file), read_global_rank(tree, file),
                  frozenset(classes), frozenset(fields), data.decode(errors="replace"))  # fmt: skip


def _call(node: ast.Call, file: str) -> Call:
    arguments = {}
    given = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            continue
        given[keyword.arg] = place_of(keyword, file)
        known, value = _constant(keyword.value)
        if known:
            shown = f"{keyword.arg}={ast.unparse(keyword.value)}"
            arguments[keyword.arg] = Argument(value, given[keyword.arg], shown)
    whole = not any(keyword.arg is None for keyword in node.keywords) and not any(
        isinstance(each, ast.Starred) for each in node.args
    )
    first = node.args[0] if node.args else None
    said = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    listed = first.elts if isinstance(first, ast.Tuple | ast.List) else [first] if first is not None else []
    classes = tuple(_name(each) for each in listed)
    dictionaries = frozenset(each.arg for each in node.keywords if each.arg and isinstance(each.value, ast.Dict))
    return Call(_name(node.func), place_of(node, file), arguments, given, whole, said, classes, dictionaries)


def _assigned(node: ast.ClassDef) -> Iterator[str]:
    """The names that the body of a class gives a value."""
    for each in node.body:
        if isinstance(each, ast.Assign | ast.AnnAssign):
            targets = each.targets if isinstance(each, ast.Assign) else [each.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def _constant(node: ast.expr) -> tuple[bool, Any]:
    try:
        return True, ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False, None


def _name(node: ast.expr) -> str:
    return ".".join(reversed(list(_parts(node))))


def _parts(node: ast.expr) -> Iterator[str]:
    while isinstance(node, ast.Attribute):
        yield node.attr
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _is_arguments(name: str) -> bool:
    return _last(name).endswith("TrainingArguments") or _last(name) in _CONFIGS
