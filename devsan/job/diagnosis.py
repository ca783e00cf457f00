"""The diagnosis of a job: made once, when its ranks have ended, then printed and kept in their run files.

It is plain data, as docs/reference/run.schema.json describes it ("job"):

  id        the same in the run files of one job
  command   as it was typed
  program   the words of the program that the ranks ran
  findings  the first cause first, each with its "ranks", "ranks_text" and "victims"
  ranks     how each rank ended: the fields of ``outcome.Fate``, its "pid" and "local_rank", whether a finding
            reports its failure already ("reported"), and the collective that it had not left ("waited_in")
  sample_of of how many ranks these are a sample (``--ranks``); 0 where they are all
  places    the list of places at which ranks went on after mismatches (``policy=warn``); "" without any
  caught    the list of places at which ranks caught a device error; "" without any
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from devsan.diagnostics.messages import recorded
from devsan.job import outcome, places
from devsan.render.terminal.run import program_of
from devsan.run_files.ranks import ranks_text
from devsan.sample_of_ranks import Sample

Document = dict[str, Any]
Plain = dict[str, Any]

_ENDED_RANK, _MISMATCHED = "DV306", "DV305"


def made(
    documents: Sequence[Document],
    fates: Sequence[outcome.Fate],
    found: Sequence[Plain],
    command: Sequence[str],
    waited: Mapping[int, str],
    sample: Sample | None,
) -> Plain:
    """Returns the diagnosis of one launch.

    Args:
        documents: of its ranks, by rank.
        fates: how they ended, by rank.
        found: what was found, the first cause first.
        command: that started the job, as it was typed; none where nobody knows.
        waited: by rank, the collective that it had entered and not left.
        sample: that the launcher started; None where it started all ranks.
    """
    if not any(fate.is_consequence or fate.how in ("killed", "vanished") for fate in fates):
        found = [finding for finding in found if finding["code"] != _ENDED_RANK]  # their tracebacks tell as much
    reported = {int(document["process"]["rank"]) for document in documents if document["findings"]}
    reported |= {rank for finding in found if finding["code"] == _ENDED_RANK for rank in finding["ranks"]}
    if any(finding["code"] == _MISMATCHED for finding in found):  # each of them failed of the others
        reported |= {fate.rank for fate in fates if fate.how == "peer_failed"}
    first = documents[0]["process"]
    ranks = [
        {**asdict(fate), "pid": document["process"]["pid"], "reported": fate.rank in reported,
         "waited_in": waited.get(fate.rank, ""),
         "local_rank": document["process"].get("local_rank", fate.rank)}
        for document, fate in zip(documents, fates, strict=True)
    ]  # fmt: skip
    went_on, caught = places.joined(documents), places.joined(documents, "caught")
    return {
        "id": f"{first['pid']}-{first['start']}", "command": list(command or first["command"]),
        "program": program_of(first["command"]),
        "findings": [
            {"count": 1, "victims": [], "ranks_text": ranks_text(each["ranks"]), **each} for each in found
        ],
        "ranks": ranks,
        "sample_of": 0 if sample is None else sample.world_size,
        "places": places.text_of(went_on, with_ranks=len(documents) > 1) if went_on else "",
        "caught": places.caught_text_of(caught, with_ranks=len(documents) > 1) if caught else "",
    }  # fmt: skip


def keep(job: Plain, files: Sequence[str]) -> None:
    """Writes the diagnosis into the run files of the ranks, behind what they have written. Never raises."""
    for path in files:
        with contextlib.suppress(OSError):
            _append(path, job)


def _append(path: str, job: Plain) -> None:
    """A killed rank leaves a last line that is cut off. It makes room for this one, and its length is kept."""
    with open(path, "r+b") as file:
        file.seek(0, os.SEEK_END)
        size = end = file.tell()
        while end > 0:
            start = max(0, end - 4096)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            end = start + newline + 1 if newline >= 0 else start
            if newline >= 0:
                break
        file.truncate(end)
        file.seek(end)
        record = recorded({"record": "job", "job": job, "cut_off": size - end})
        file.write(json.dumps(record, default=str).encode("ascii") + b"\n")
