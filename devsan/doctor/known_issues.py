"""Releases with known defects, and what drivers a CUDA needs: ``known_issues.json``.

NOTE [Adding a known issue] One entry there is all that is needed, its sentences in English and Chinese, its commands
as they are. "packages" maps names to the versions that have the defect, as pip writes them (">=0.14.1,<0.14.3");
every package has to be in its range. "when" names conditions of the job (`devsan.doctor.rules.known_defect`).
"source" is a thread or file that says so; "inside" and "outside" are versions at the bounds, which
tests/doctor/test_known_issues.py tries.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from devsan.diagnostics.diagnostic import Confidence, Severity
from devsan.diagnostics.messages import Message


@dataclass(frozen=True)
class KnownIssue:
    """A defect.

    Attributes:
        name: short, for tests and machines.
        packages: name to versions that have it.
        when: conditions of the job, all of which have to hold.
        title: what goes wrong.
        evidence: why.
        fix: what to do.
        others: what else helps.
        source: who says so.
        severity: of the finding where the conditions hold.
        confidence: in the cause.
    """

    name: str
    packages: Mapping[str, str]
    when: tuple[str, ...]
    title: Message
    evidence: Message
    fix: Message
    others: tuple[Message, ...]
    source: str
    severity: Severity
    confidence: Confidence


@cache
def data() -> dict[str, Any]:
    """Returns what known_issues.json says."""
    read: dict[str, Any] = json.loads(Path(__file__).with_name("known_issues.json").read_text(encoding="utf-8"))
    return read


@cache
def known_issues() -> tuple[KnownIssue, ...]:
    """Returns the known issues."""
    return tuple(
        KnownIssue(each["name"], each["packages"], tuple(each.get("when", ())), _said(each["title"]),
                   _said(each["evidence"]), _said(each["fix"]), tuple(map(_said, each.get("others", ()))),
                   each["source"], each["severity"], each["confidence"])
        for each in data()["issues"]
    )  # fmt: skip


def _said(text: str | Mapping[str, str]) -> Message:
    """Returns a sentence, which is its own template, or a command, which is the same in every language."""
    return Message(text) if isinstance(text, str) else Message(text["en"], text["en"])


def met(issue: KnownIssue, version_of: Callable[[str], str]) -> bool:
    """Returns whether every package of ``issue`` is installed in a version that has the defect."""
    return all(contains(versions, version_of(name)) for name, versions in issue.packages.items())


def contains(versions: str, version: str) -> bool:
    """Returns whether ``version`` is among ``versions``, as pip reads them.

    "2.4.0+cu121", "2.4.0a0+07cecf4.nv24.05" and "2.4.0.dev20240501" all are 2.4.0: what changed is in them already.
    """
    if not version:
        return False
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        return SpecifierSet(versions).contains(Version(Version(version).base_version), prereleases=True)
    except InvalidVersion:
        return False


def minimum_driver(cuda: str) -> str:
    """Returns the oldest driver on Linux for a CUDA such as "12.4"; "" where it is not known."""
    drivers: dict[str, str] = data()["drivers"]["linux"]
    return drivers.get(cuda.partition(".")[0], "")
