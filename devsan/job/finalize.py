"""The end of a job on its owner's side: the ranks' documents are read, and one report is made of them."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from devsan import active_options
from devsan.diagnosis.source import shown_path
from devsan.diagnostics.messages import message
from devsan.errors import tell
from devsan.experiments import EXPERIMENT
from devsan.job import diagnosis, findings, folder, outcome, record, termination, text
from devsan.job.exit_watcher import Exit, ExitWatcher, exit_of, read_exits
from devsan.job.ranks.flight_recorder import read, waited_in
from devsan.options import Options
from devsan.render import language
from devsan.render.formats import rendered
from devsan.render.github import command
from devsan.render.notice import notice
from devsan.run_files import output_file, tally
from devsan.run_files.reader import read_run

_found: Counter[tuple[str, str]] = Counter()  # severity and code of what was found in the ranks of this process's job

# seconds that ranks get that outlive their launcher: Lightning's main process does not wait for its others
_PATIENCE = 5.0


def close(path: str, watcher: ExitWatcher | None, options: Options) -> None:
    """Reports on the job and lets go of its watch; the folder is left to the caller.

    Args:
        path: the job's folder.
        watcher: the watch over its ranks; None where nobody is to report.
        options: how to report.
    """
    experiment = os.environ.get(EXPERIMENT)
    if options.is_reported and watcher is not None:
        _join_children()
        # The ranks' run files have the diagnosis, which is all that an experiment is for.
        with open(os.devnull, "w") if experiment else contextlib.nullcontext() as nowhere:
            report_on(path, watcher, options, _PATIENCE, nowhere)
        if options.report_file:
            _write_file(path, options)
    tally.close(path, _found, folder.ranks(path), folder.sample_of(path))
    if experiment:
        tally.leave(experiment)


def report_on(
    path: str, watcher: ExitWatcher | None, options: Options, patience: float, stream: TextIO | None = None
) -> bool:
    """Writes the report on the ranks that have left documents. Returns whether there was something to say.

    Args:
        path: the job's folder.
        watcher: the watch, which ends here.
        options: how to report.
        patience: seconds to wait for ranks that still run.
        stream: where to write; stderr by default.
    """
    exits = watcher.close(patience) if watcher is not None else {}
    out = sys.stderr if stream is None else stream
    if options.lang and active_options.current() is None:  # no emulation in this process that has chosen it
        os.environ[language.VARIABLE] = options.lang
    said = False
    if out is not None:
        for documents in record.launches(_documents(path, exits)):
            said = _report_on_launch(path, documents, options.format, out) or said
    return said


def forget_documents(path: str) -> None:
    """Removes what was reported on already: the next cell of a notebook begins with nothing."""
    for name in (*folder.processes(path).values(), *folder.shown(path)):
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(path, name))


def _report_on_launch(path: str, documents: list[dict[str, Any]], how: str, out: TextIO) -> bool:
    fates = outcome.fates_of(documents)
    for document, fate in zip(documents, fates, strict=True):
        if document["exit"] is not None:
            document["exit"]["by_launcher"] = fate.how in ("terminated", "interrupted")
    recordings: list[Any] = []
    if EXPERIMENT in os.environ and all(_is_well(document) for document in documents):
        return False  # comparing ranks takes seconds: it loads torch
    if len(documents) > 1:
        recordings = _recordings(path, {document["process"]["pid"] for document in documents})
        found = findings.of_job(documents, recordings)
    else:
        found = findings.joined(documents)
    waited: dict[int, str] = {}
    with contextlib.suppress(Exception):  # as above: a source that cannot be read
        waited = waited_in(recordings)
    job = diagnosis.made(documents, fates, found, folder.command_of(path), waited, folder.sample_of(path))
    said = text.write(job, out, shown=folder.shown_where(path, out))
    _found.update((str(finding["severity"]), str(finding["code"])) for finding in job["findings"])
    if how == "github" and job["findings"]:
        out.write("".join(command(finding, documents[0]["process"]["directory"]) for finding in job["findings"]))
        out.flush()
    files = [os.path.join(document["process"]["directory"], document["run_file"])
             for document in documents if document["run_file"]]  # fmt: skip
    if len(documents) > 1:  # the file of a rank by itself has all that is known
        diagnosis.keep(job, files)
    if not folder.run_files(path):
        tell_run_files(files)
    return said


def _is_well(document: Mapping[str, Any]) -> bool:
    ended = document["exit"]
    return not document["findings"] and ended is not None and ended["code"] == 0


def _write_file(path: str, options: Options) -> None:
    """Makes the report that is a file, of the run files in the job's folder."""
    file = output_file.free_name(options.report_file, options.force)
    name = shown_path(file)
    try:
        runs = _runs(path)
        if not runs:
            notice(message("no report in {name}: no process has used a GPU", name=name))
            return
        with open(file, "w", encoding="utf-8", errors="backslashreplace") as stream:
            stream.write(rendered(options.format, runs))
    except Exception as error:
        tell(f"no report in {name}: {type(error).__name__}: {error}")
        return
    notice(message("the report is in {name}", name=name))


def _runs(path: str) -> list[dict[str, Any]]:
    """The runs in the job's folder, by rank. Where there are ranks, a process that is none (what started them in
    Python) and found nothing has nothing to show."""
    runs = [read_run(file) for file in folder.run_files(path)]
    if any(run["job"] is not None for run in runs):
        runs = [run for run in runs if run["job"] is not None or run["findings"]]
    return sorted(runs, key=lambda run: (run["process"]["rank"], run["start"]))


def tell_run_files(files: Sequence[str]) -> None:
    """Says where the run files are that a job, or a process by itself, has left."""
    shown = [shown_path(file) for file in files]
    if shown:
        path = shown[0] if len(shown) == 1 else message("{first} to {last}", first=shown[0], last=shown[-1])
        notice(message("the run is in {path}; devsan report {paths} shows it", path=path, paths=" ".join(shown)))


def _documents(path: str, exits: Mapping[int, Exit]) -> list[dict[str, Any]]:
    """The documents of the ranks, each with its exit, in the order in which they began."""
    stacks = dict(folder.stacks(path))
    told = read_exits(path)
    found = record.documents(path)
    for document in found:
        process = document["process"]
        pid = int(process["pid"])
        ended = exits.get(pid)
        if pid in told and (ended is None or ended.is_unknown):
            ended = exit_of(told[pid], ended.time if ended is not None else time.time())
        document["rank"] = process["rank"]
        document["exit"] = outcome.exit_fields(ended)
        if pid in stacks and not document["stack"]:
            document["stack"] = termination.read_stack(stacks[pid])
    return found


def _recordings(path: str, pids: set[int]) -> list[Any]:
    files = [(pid, file) for pid, file in folder.recordings(path) if pid in pids]
    if not files:
        return []
    found = []
    for _, file in files:
        with contextlib.suppress(Exception):
            found.append(read(file))
    return found


def _join_children() -> None:
    """Python waits for children that are no daemons when it ends, but behind the functions of atexit."""
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is None:
        return
    with contextlib.suppress(Exception):
        for child in multiprocessing.active_children():
            if not child.daemon:
                child.join()
