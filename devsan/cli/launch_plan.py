"""``devsan plan -- launcher ...``: which way of sharing a launched job fits its GPUs, and is the cheapest."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from devsan.cli.command import Action
from devsan.cli.planning import EXIT_FITS, EXIT_NOTHING_FITS, planned, verdict
from devsan.diagnostics.messages import message
from devsan.errors import UsageError
from devsan.fix.job import Job
from devsan.options import Options
from devsan.plan.launched.launch import read
from devsan.plan.launched.need import Need
from devsan.plan.launched.planner import LaunchPlanner
from devsan.plan.launched.result import LaunchPlan, Tried
from devsan.render.language import Language
from devsan.render.notice import notice
from devsan.render.terminal import launch_plan as terminal

_COMMAND = "launch.sh"
_SCRIPT = """\
#!/bin/sh
# {name}, rehearsed by devsan plan
cd "$(dirname "$0")"/{here} || exit
exec {command}
"""


def prepare(options: Options, words: Sequence[str], own: argparse.Namespace) -> Action:
    """Reads the launch; rehearsals are started by what is returned.

    Args:
        options: of the emulation, at full size.
        words: of the launcher.
        own: of the command: ``output``, ``force``, ``json``, ``all``, ``timeout``, ``check_map``.

    Raises:
        UsageError: it cannot be planned.
    """
    if own.check_map:
        raise UsageError("a script, -m or -c with --check-map", "a command")
    if own.output and os.path.exists(own.output) and not (own.force or _is_empty(own.output)):
        raise UsageError("a folder that is new or empty for -o, or --force", repr(own.output))
    job = Job(options, ("--", *words))
    launch = read(words, job.folder, job.environment, len(options.gpus))
    planner = LaunchPlanner(job, launch, own.timeout)
    return lambda: planned(
        options.lang, _described, lambda progress: planner.plan(progress, own.all),
        lambda plan: _told(plan, options, own),
    )  # fmt: skip


def _described(row: Tried | Need, say: Language) -> str:
    return terminal.need_text(row, say) if isinstance(row, Need) else terminal.row_text(row, say)


def _told(plan: LaunchPlan, options: Options, own: argparse.Namespace) -> int:
    if own.json:
        best = plan.best
        chosen = None if best is None else dataclasses.asdict(best.configuration)
        print(json.dumps({**dataclasses.asdict(plan), "fits": verdict(plan), "best": chosen}, indent=2))
    else:
        terminal.write(plan, sys.stdout, options.lang, own.output or "FOLDER")
    if own.output and plan.best is not None:
        _write(plan, own.output)
        notice(message("the configuration is in {folder}; {command} there launches it", folder=own.output,
                       command=_COMMAND))  # fmt: skip
    return EXIT_FITS if plan.fits else EXIT_NOTHING_FITS


def _write(plan: LaunchPlan, output: str) -> None:
    assert plan.best is not None
    configuration, folder = plan.best.configuration, Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in configuration.files.items():
        folder.joinpath(name).write_text(text, encoding="utf-8")
    placed = {os.path.relpath(path): os.path.join(output, name) for path, name in configuration.replaces.items()}
    words = [placed.get(os.path.relpath(word), word) for word in configuration.command_in(output)]
    here = shlex.quote(os.path.relpath(os.getcwd(), folder))
    script = folder / _COMMAND
    script.write_text(_SCRIPT.format(name=configuration.strategy.name, here=here, command=shlex.join(words)),
                      encoding="utf-8")  # fmt: skip
    script.chmod(0o755)


def _is_empty(folder: str) -> bool:
    return os.path.isdir(folder) and not os.listdir(folder)
