"""A name that is misspelled in one letter is offered as it was, or nothing is, where another is as near.

Every list of names that DevSan offers one of is tried: each name with letters taken out, put in, changed and swapped.
"""

from __future__ import annotations

import json
import os
import random
import string
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from devsan.cli.main import COMMANDS
from devsan.cli.report import FORMATS
from devsan.diagnostics.codes import all_codes, named
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.doctor.case import Case
from devsan.doctor.check import check
from devsan.doctor.document import read_document
from devsan.doctor.facts import nothing
from devsan.doctor.launch import LaunchFacts
from devsan.doctor.rules import accelerate_setting, fsdp_setting, optimizer_and_offload
from devsan.doctor.rules.refused_setting import scheduler
from devsan.doctor.rules.refused_setting.values import schema
from devsan.errors import UsageError
from devsan.options import LANGUAGES, OPTIONS, POLICIES, find_option
from devsan.profiles import all_profiles, find_profile
from devsan.spelling import distance, nearest, nearest_script

DRAWN = int(os.environ.get("DEVSAN_SLIPS", "60"))  # of each list; 0 is all of them
LETTERS = string.ascii_letters + string.digits + "_-"


def slips(name: str) -> Iterator[str]:
    """Every letter taken out and swapped with the next; at every place some letters put in and taken instead."""
    drawn = random.Random(name)
    for at in range(len(name) + 1):
        yield name[:at] + name[at + 1 :]
        yield name[:at] + name[at + 1 : at + 2] + name[at : at + 1] + name[at + 2 :]
        for letter in [*drawn.sample(LETTERS, 3), *name[max(at - 1, 0) : at + 1]]:
            yield name[:at] + letter + name[at:]
            yield name[:at] + letter + name[at + 1 :]
    yield from (name.upper(), name.lower(), name.swapcase())


def is_slip(word: str, name: str) -> bool:
    """Whether one letter is all that lies between them; found without `distance`, which is what is tested."""
    one, other = word.lower(), name.lower()
    start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    a, b = one[start:], other[start:]
    return a[1:] == b or a == b[1:] or a[1:] == b[1:] or (a[:2] == b[1::-1] and len(b) > 1 and a[2:] == b[2:])


def wrongly_offered(names: Sequence[str], offer: Callable[[str], str | None], many: int = 0) -> list[tuple[str, ...]]:
    """What is offered for slips, where it is neither the name that was meant nor, rightly, nothing."""
    wrong = []
    known = {name.lower() for name in names}
    tried = [(name, word) for name in names for word in slips(name) if word and word.lower() not in known]
    assert len(tried) > 10
    for name, word in random.Random(0).sample(tried, many) if 0 < many < len(tried) else tried:
        beside = [each for each in names if each != name and is_slip(word, each)]
        offered = offer(word)
        if offered != name and not (beside and (offered is None or (offered in beside and _by_capitals(word, names)))):
            wrong.append((name, word, str(offered)))
    return wrong


def _by_capitals(word: str, names: Sequence[str]) -> bool:
    """Whether capitals tell two apart that are equally near otherwise."""
    near = sorted(distance(word, each) for each in names if is_slip(word, each))
    return near[0] < near[1]


MODELS = {f"deepspeed.{name}": list(model["fields"]) for name, model in schema()["models"].items()}
LISTS: dict[str, Sequence[str]] = {
    "deepspeed": list(schema()["top"]),
    **{name: fields for name, fields in MODELS.items() if fields},
    "accelerate": accelerate_setting._KEYS,
    "accelerate.types": accelerate_setting._TYPES,
    "accelerate.deepspeed": accelerate_setting._DEEPSPEED,
    "accelerate.precisions": accelerate_setting._PRECISIONS,
    "fsdp": fsdp_setting._NAMES,
    **{f"fsdp.{name}": choices for name, choices in fsdp_setting._CHOICES.items()},
    "optimizers": (
        *optimizer_and_offload._SPELLED,
        *(name for name in optimizer_and_offload._OF_TORCH if name not in optimizer_and_offload._SPELLED),
    ),
    "schedulers": (*scheduler._OWN, *(name for name in scheduler._OF_TORCH if name not in scheduler._OWN)),
    "options": [option.name for option in OPTIONS],
    "policies": POLICIES,
    "languages": LANGUAGES,
    "formats": FORMATS,
    "commands": [*(command.name for command in COMMANDS), "--help", "--version", "--cmake-prefix"],
    "profiles": list(all_profiles()),
    "codes": list(all_codes()),
}


@pytest.mark.parametrize("names", LISTS.values(), ids=LISTS)
def test_one_letter_wrong_is_offered_as_it_was(names: Sequence[str]) -> None:
    assert wrongly_offered(names, lambda word: nearest(word, names, 0.8), DRAWN) == []


@pytest.mark.parametrize(
    ("word", "choices", "offered"),
    [
        ("AdamWW", ["Adam", "AdamW"], "AdamW"),
        ("adamww", ["Adam", "AdamW"], "AdamW"),
        ("Admaw", ["Adam", "AdamW"], "AdamW"),  # two neighbors swapped are one slip
        ("zn", ["en", "zh"], None),
        ("Cat", ["cab", "Cap"], "Cap"),  # equally near, but for the capitals
        ("CAT", ["cat", "Cat"], "Cat"),
        ("reduce_buket_sise", ["reduce_bucket_size", "reduce_scatter"], "reduce_bucket_size"),
        ("x", ["y", "z"], None),
        ("", ["y"], None),
        ("word", [], None),
        ("rtx4090", ["rtx4090-24g", "rtx3090-24g"], "rtx4090-24g"),
    ],
)
def test_which_is_the_nearest(word: str, choices: list[str], offered: str | None) -> None:
    assert nearest(word, choices) == nearest(word, choices[::-1]) == offered


def test_the_distance_counts_slips() -> None:
    pairs = [("", "", 0), ("ab", "", 2), ("ab", "ba", 1), ("adamw", "adam", 1), ("kitten", "sitting", 3), ("a", "b", 1)]
    for one, other, expected in pairs:
        assert distance(one, other) == distance(other, one) == expected


@pytest.mark.parametrize("names,read", [
    ([option.key for option in OPTIONS], find_option),
    (list(all_profiles()), find_profile),
    ([*all_codes(), *(code.name for code in all_codes().values())], named),
])  # fmt: skip
def test_what_an_error_offers(names: list[str], read: Callable[[str], object]) -> None:
    def offered(word: str) -> str | None:
        try:
            read(word)
        except UsageError as error:
            return str(error).partition("; did you mean ")[2].removesuffix("?").strip("'") or None
        return next(name for name in names if name.lower() == word.strip().lower())

    assert wrongly_offered(names, offered, DRAWN) == []


def found(folder: Path, kind: str, content: dict[str, Any]) -> list[Diagnostic]:
    file = folder / f"{kind}.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    case = Case(nothing({}), LaunchFacts(4, "torchrun"), (read_document(str(file), kind),))  # type: ignore[arg-type]
    return check(case)


PLACES: dict[str, tuple[str, Sequence[str], Callable[[str], dict[str, Any]]]] = {
    "an optimizer": ("deepspeed", LISTS["optimizers"], lambda word: {"optimizer": {"type": word}}),
    "a scheduler": ("deepspeed", LISTS["schedulers"], lambda word: {"scheduler": {"type": word}}),
    "a setting": ("deepspeed", LISTS["deepspeed"], lambda word: {word: {}}),
    "accelerate's key": ("accelerate", LISTS["accelerate"], lambda word: {"distributed_type": "NO", word: None}),
    "accelerate's type": ("accelerate", LISTS["accelerate.types"], lambda word: {"distributed_type": word}),
    "a precision": ("accelerate", LISTS["accelerate.precisions"],
                    lambda word: {"distributed_type": "NO", "mixed_precision": word}),
    "FSDP's setting": ("fsdp", LISTS["fsdp"], lambda word: {word: None}),
    "a strategy": ("fsdp", LISTS["fsdp.sharding_strategy"], lambda word: {"sharding_strategy": word}),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "names", "written"), PLACES.values(), ids=PLACES)
def test_what_a_fix_writes(tmp_path: Path, kind: str, names: Sequence[str], written: Callable[[str], Any]) -> None:
    def offered(word: str) -> str | None:
        findings = [each for each in found(tmp_path, kind, written(word)) if word in each.title]
        wanted = {name for name in names for each in findings if each.fixes[0].text == f"write {name}"}
        edited = {edit.after.strip('"') for each in findings for edit in each.fixes[0].edits if edit.after}
        assert len(wanted) <= 1 and edited <= wanted, (word, wanted, edited)
        return wanted.pop() if wanted else None

    assert wrongly_offered(names, offered, DRAWN) == []


@pytest.mark.parametrize(
    ("name", "near"),
    [("trainr.py", "trainer.py"), ("trainer", "trainer.py"), ("clean.py", None), ("nosuch.py", None)],
)
def test_a_script_that_is_near_has_a_name_like_it_without_its_ending(tmp_path: Path, name: str, near: str | None):
    for each in ("trainer.py", "later.py", "own.py"):
        (tmp_path / each).touch()
    found = nearest_script(str(tmp_path / name))
    assert found == (near and str(tmp_path / near))
