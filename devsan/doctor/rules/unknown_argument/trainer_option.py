"""DV421: slips in the Trainer's options on the command line, where the parser refuses what no class of its own has."""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.case import Case
from devsan.doctor.findings import finding
from devsan.doctor.packages import version
from devsan.doctor.rules.unknown_argument.keyword import PARSER_STOPS, taken_by_trainer, was_taken
from devsan.doctor.trainer_arguments import TrainerArguments
from devsan.spelling import nearest_ones

CODE = own_code(__name__)

_CLOSE = 0.75  # how alike an option and the one that was meant are


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields options that are no argument of the Trainer's, nor of the script's own classes, and close to one.

    Where a class comes from elsewhere, nobody knows here which options it has.
    """
    said, installed = TrainerArguments.of(case), case.facts.installed
    if installed is None or said.parsed is None or not said.parsed.knows_all:
        return
    taken = taken_by_trainer(installed)
    known = taken.union(*(script.fields for script in case.scripts))
    for name in said.words if taken else ():
        # argparse takes the beginning of a name for all of it; the parser adds no_... to what is true by default.
        is_begun = any(each.startswith(name.removeprefix("no_")) for each in known)
        if is_begun or was_taken(name) or any(script.mentions(name) for script in case.scripts):
            continue
        near = [f"--{each}" for each in nearest_ones(name, taken, _CLOSE)]
        if near:
            right = message("write one of {choices}", choices=", ".join(near))
            yield finding(
                CODE,
                message("transformers {version} has no argument {name}", name=f"--{name}",
                        version=version("transformers")),
                said.parsed.place, (PARSER_STOPS,),
                message("write {correction}", correction=near[0]) if len(near) == 1 else right, severity="error",
            )  # fmt: skip
