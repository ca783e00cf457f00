"""``devsan plan``."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from devsan.blocks.measured import Measured
from devsan.cli import launch_plan, program_words
from devsan.cli.command import Action, Parser, add_output, read_timeout
from devsan.cli.plan_progress import PlanProgress
from devsan.cli.planning import EXIT_FITS, EXIT_NOTHING_FITS, planned, verdict
from devsan.cli.program import CommandLine
from devsan.cli.program_words import ProgramWords
from devsan.diagnostics.messages import message
from devsan.errors import UsageError
from devsan.fix.job import Job
from devsan.options import NOT_OF_PLAN, find_option
from devsan.plan.map_check import MapCheck, read_map
from devsan.plan.planner import Planner
from devsan.plan.rehearsal import Rehearsals
from devsan.plan.result import PlanResult, Tried
from devsan.render.amounts import plain_amount
from devsan.render.notice import notice
from devsan.render.terminal import plan as terminal
from devsan.run_files import output_file

_USAGE = """devsan plan [options] script.py [args ...]
       devsan plan [options] -m module [args ...]
       devsan plan [options] -c code [args ...]
       devsan plan [options] -- launcher [args ...]"""

_EPILOG = """\
Examples:

  devsan plan --gpus 4:rtx3090-24g train.py           does it fit, and with which device map
  devsan plan --gpus 4:rtx3090-24g -o map.json train.py
  devsan plan --gpus 4:rtx3090-24g --check-map map.json train.py
  devsan plan --gpus 4:rtx3090-24g -o planned -- torchrun --nproc-per-node 4 train.py
                                                      DDP, FSDP2, ZeRO-1 to 3, offload: which fits, and is the cheapest

The program is rehearsed at full size: nothing is computed, and no memory is taken.

Exit code: 0 if it fits, 1 if nothing does, 2 for what cannot be planned."""

_SETTLED = {**{name: find_option(name).default for name in NOT_OF_PLAN}, "full_size": True}
_WHY_SETTLED = "a plan is rehearsed at full size, and each rehearsal has a policy of its own"


class PlanCommand:
    """Plan by rehearsal which GPU has which part of a model, and whether it fits.

    The program is rehearsed at full size as it is, then with all of its model on one GPU without a limit, where each
    block is measured: parameters, gradients, optimizer state, activations. The best map for the GPUs at hand is
    rehearsed in turn, so that its peaks are those of a run.
    """

    name = "plan"

    def prepare(self, words: Sequence[str]) -> Action:
        """Reads the words; rehearsals are started by what is returned."""
        parser = Parser(self, usage=_USAGE, epilog=_EPILOG)
        add_output(parser, "write the device map, as JSON that accelerate and transformers take, to this file; of a "
                   "launch, its configuration to this folder")  # fmt: skip
        parser.add_argument("--json", action="store_true", help="print the plan as JSON instead of a table")
        parser.add_argument("--all", action="store_true", help="try all levers, also where it fits without one")
        parser.add_argument("--check-map", metavar="FILE",
                            help="judge the device map in this JSON file instead of planning one")  # fmt: skip
        parser.add_argument("--timeout", metavar="SECONDS", type=read_timeout, default=600.0,
                            help="the most that one rehearsal may take (default: 600)")  # fmt: skip
        asked = program_words.read(parser, words, _SETTLED, _WHY_SETTLED)
        if not asked.options.devices():
            raise UsageError("emulated GPUs, on which alone rehearsals run", "--gpus real")
        if isinstance(asked.program, CommandLine):
            return launch_plan.prepare(asked.options, asked.words[1:], asked.own)
        if asked.own.output:
            output_file.check(asked.own.output, asked.own.force)
        if asked.own.check_map and (asked.own.output or asked.own.all):
            raise UsageError("--check-map without -o and --all, which are for a plan", "both")
        device_map = read_map(asked.own.check_map) if asked.own.check_map else None
        return lambda: _rehearsed(asked, device_map)


def _rehearsed(asked: ProgramWords, device_map: Mapping[str, int | str] | None) -> int:
    def rehearse(progress: PlanProgress[Tried | Measured]) -> PlanResult | MapCheck:
        with Rehearsals(Job(asked.options, asked.words), asked.own.timeout) as rehearsals:
            planner = Planner(rehearsals, progress)
            return planner.plan(asked.own.all) if device_map is None else planner.check(device_map)

    def told(found: PlanResult | MapCheck) -> int:
        return _told(found, asked) if isinstance(found, PlanResult) else _told_of_map(found, asked)

    return planned(asked.options.lang, terminal.row_text, rehearse, told)


def _told(result: PlanResult, asked: ProgramWords) -> int:
    if asked.own.json:
        _print(result, fits=verdict(result))
    else:
        terminal.write(result, sys.stdout, asked.options.lang)
    if asked.own.output:
        write_map(result, asked.own.output)
    return EXIT_FITS if result.fits else EXIT_NOTHING_FITS


def write_map(result: PlanResult, path: str) -> None:
    """Writes the planned map, or that of the first lever with which one fits on the same GPUs."""
    levers = [tried for tried in result.levers if tried.what != "gpus"]
    best = next((each for each in (result.planned, *levers) if each.fits and each.placement is not None), None)
    if best is None or best.placement is None:
        if result.is_partial:
            notice(message("{path} is not written: the plan was interrupted", path=path))
            return
        notice(message("{path} is not written: no map fits", path=path))
        return
    Path(path).write_text(json.dumps(best.placement.device_map, indent=2) + "\n", encoding="utf-8")
    if best is result.planned:
        notice(message("the device map is in {path}", path=path))
        own, planned = result.as_it_is, result.planned
        if own.fits and own.transferred < planned.transferred:
            notice(message("the program as it is fits, and moves {own} between GPUs, not {planned}",
                           own=plain_amount(own.transferred), planned=plain_amount(planned.transferred)))  # fmt: skip
    else:
        notice(message("the device map for this change is in {path}: {lever}", path=path, lever=best.lever))


def _told_of_map(check: MapCheck, asked: ProgramWords) -> int:
    if asked.own.json:
        _print(check, good=check.is_good)
    else:
        terminal.write_check(check, sys.stdout, asked.options.lang)
    return EXIT_FITS if check.is_good else EXIT_NOTHING_FITS


def _print(found: PlanResult | MapCheck, **judged: bool | None) -> None:
    print(json.dumps({**dataclasses.asdict(found), **judged}, indent=2))
