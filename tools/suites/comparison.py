"""What the outcomes of a file mean: which failures are known, and which a plain CPU has as well."""

from __future__ import annotations

import collections
import re
from typing import NamedTuple

from known import Known, reason_of
from session import BAD, Outcome, Session

# What transformers and huggingface_hub say where the hub cannot be asked. Many of these tests skip without a GPU.
OFFLINE = re.compile(
    r"LocalEntryNotFoundError|OfflineModeIsEnabled|couldn't connect to 'https|Can't load \w+ \w+ for '"
    r"|the model is not fully cached locally"
)

COUNTS = ("passed", "skipped", "known", "environment", "new")


class Verdict(NamedTuple):
    test: str  # file::Class.test
    outcome: Outcome
    mark: str  # passed, skipped, known, environment (the network, or the plain CPU says the same) or new
    reason: str = ""


def run_file(session: Session, file: str, known: list[Known]) -> list[Verdict]:
    """Runs a file on emulated GPUs, and what failed there without a known reason once more on the plain CPU."""
    outcomes = session.run(file)
    reasons = {each.name: reason_of(known, f"{file}::{each.name}") for each in outcomes if each.outcome in BAD}
    unknown = [_on_cpu(session, name) for name, reason in reasons.items() if not reason]
    on_cpu = {each.name: each for each in session.run(file, emulated=False, only=unknown)} if unknown else {}
    verdicts = []
    for each in outcomes:
        reason = reasons.get(each.name, "")
        if each.outcome not in BAD:
            mark = each.outcome
        elif reason:
            mark = "known"
        else:
            same = OFFLINE.search(each.text) or _same(each, on_cpu.get(_on_cpu(session, each.name)))
            mark = "environment" if same else "new"
        verdicts.append(Verdict(f"{file}::{each.name}", each, mark, reason))
    return verdicts


def count(verdicts: list[Verdict]) -> list[int]:
    """Returns how many have each mark of ``COUNTS``."""
    counted = collections.Counter(each.mark for each in verdicts)
    return [counted[mark] for mark in COUNTS]


def _on_cpu(session: Session, name: str) -> str:
    return name.replace("CUDA", "CPU").replace("cuda", "cpu") if session.suite.device_in_name else name


def _same(emulated: Outcome, plain: Outcome | None) -> bool:
    return plain is not None and (emulated.outcome, _plain(emulated.text)) == (plain.outcome, _plain(plain.text))


def _plain(text: str) -> str:
    """Takes away what differs between two runs of one failure: numbers, addresses, folders, and the device's name."""
    return re.sub(r"0x[0-9a-f]+|\d+|/\S*", "", text).replace("cuda:", "cuda").replace("cuda", "cpu")
