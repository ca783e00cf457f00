"""A sweep as JUnit's XML, which CI systems show as tests: a suite for the sweep, a test case for each cell.

The elements are those that Jenkins and GitLab read: a failure is a device failure, an error anything else.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from devsan.render.in_words import message

if TYPE_CHECKING:
    from devsan.sweep.result import CellResult, Group, SweepResult

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML 1.0
_ELEMENTS = {"failed": "failure", "error": "error", "stopped": "error", "killed": "error", "skipped": "skipped",
             "not run": "skipped"}  # fmt: skip


def render(result: SweepResult) -> str:
    """Returns the document of ``result``."""
    counts = result.counts
    totals = {
        "tests": len(result.cells), "failures": counts.get("failed", 0),
        "errors": sum(counts.get(status, 0) for status in ("error", "stopped", "killed")),
        "skipped": counts.get("skipped", 0) + counts.get("not run", 0), "time": f"{result.seconds:.2f}",
    }  # fmt: skip
    attributes = {name: str(value) for name, value in totals.items()}
    suites = ElementTree.Element("testsuites", attributes)
    name = os.path.basename(result.file)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": name, **attributes})
    groups = {group.id: group for group in result.groups}
    for cell in result.cells:
        suite.append(_case(cell, groups.get(cell.group), name))
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def _case(cell: CellResult, group: Group | None, suite: str) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase", {"classname": suite, "name": _legal(cell.name), "time": f"{cell.seconds:.2f}"}
    )
    element = _ELEMENTS.get(cell.status)
    if element is None:
        return case
    found = {"message": _legal(cell.reason or cell.status)}
    text = ""
    if element != "skipped":
        found["type"] = f"{group.code} {group.name}" if group is not None and group.code else cell.status
        text = cell.output
        if group is not None:
            text = "\n".join([f"group {group.id}: {len(group.cells)} cells", group.place, text])
            if group.finding is not None:
                text += message(group.finding)
    child = ElementTree.SubElement(case, element, found)
    child.text = _legal(text) or None
    return case


def _legal(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
