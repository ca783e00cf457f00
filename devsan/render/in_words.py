"""A finding of a run's document in sentences, for formats that have no columns: annotations, SARIF's messages."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from devsan.diagnostics.placement import owner_text, placed_text
from devsan.installed import installed_as

Plain = Mapping[str, Any]


def heading(finding: Plain) -> str:
    """Returns "DV104 reduction-boundary", or what was refused where there is no code."""
    return f"{finding['code']} {finding['name']}".strip() if finding["code"] else "device failure"


def message(finding: Plain) -> str:
    """Returns what was refused, in torch's words too, and who placed the operands."""
    lines = [finding["headline"], finding["sentence"]]
    if not finding["sentence"]:  # nothing has failed: what was seen speaks for itself
        lines += finding["evidence"]
    lines += [f"{sentence} ({_at(frame)})" if frame else sentence for _, sentence, frame in placed(finding)]
    fix = next(iter(finding["fixes"]), None)
    if fix is not None:
        lines.append(f"help: {fix['text']} ({fix['confidence']})")
    elif finding["candidates"]:
        lines.append("undecided: " + ", ".join(f"{each['code']} {each['name']}" for each in finding["candidates"]))
    if finding["code"] not in ("", "DV000"):
        lines.append(f"more: devsan explain {finding['code']}")
    return "\n".join(line for line in lines if line)


def where_of(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Returns the frame to show for an event: the program's, or the line that installed the owner."""
    site, installed = event["site"], event["owner"]["where"]
    frame: Mapping[str, Any] | None = installed if installed is not None and (not site or site["package"]) else site
    return frame


def placed(finding: Plain) -> Iterator[tuple[Plain, str, Plain | None]]:
    """Yields the operands that the finding is about: each, in words who placed it, and where that was done."""
    operands = finding["operands"]
    for number in finding["involved"]:
        operand = operands[number]
        event = next((each for each in operand["provenance"] if each["kind"] not in ("computed", "shared")), None)
        made_by = operand.get("output_of")  # not in the documents of older releases
        name = operand["name"] or operand["qualified_name"] or (made_by and f"the output of {made_by}")
        name = name or operand["role"] or "an operand"
        if event is None:
            yield operand, f"{name} is on {operand['device']}", None
            continue
        owner = event["owner"]
        said = placed_text(operand["device"], owner_text(owner["name"]))
        setting = f": {owner['setting']}" if owner["setting"] else ""
        site = owner["where"] or event["site"]
        yield operand, f"{name} was {said}{setting}", site


def main_site(finding: Plain, directory: str) -> tuple[Plain, list[Plain]]:
    """Returns the site to point at, the program's own where there is one, and the others.

    Args:
        finding: of a run's document, with at least one site.
        directory: where the program lies; what is installed elsewhere cannot be annotated.
    """
    sites = list(finding["sites"])
    own = [site for site in sites if is_inside(site["path"], directory)]
    main = own[0] if own else sites[0]
    return main, [site for site in sites if site is not main]


def region(site: Plain) -> tuple[int, int, int, int]:
    """Returns what to underline: line, column, last line, column behind it. Columns are 0 where not known."""
    labels = [label for label in site["labels"] if label["offending"]] or list(site["labels"])
    if labels:
        label = labels[0]
        return label["line"], label["column"], label["line"], label["end_column"]
    column = site["column"]
    text = next((line["text"] for line in site["lines"] if line["line"] == site["line"]), "")
    end = len(text.rstrip()) + 1
    return site["line"], column, site["line"], end if column and end > column else 0


def is_file(path: str) -> bool:
    """Returns whether ``path`` can be opened, and is not "<string>" or the like."""
    return path != "" and not path.startswith("<")


def is_inside(path: str, directory: str) -> bool:
    """Returns whether ``path`` is a file of the project in ``directory`` and none of an installed package."""
    return os.path.isabs(path) and path.startswith(os.path.join(directory, "")) and not installed_as(path)


def relative(path: str, directory: str) -> str:
    """Returns ``path`` as seen from ``directory`` where it is inside of it, else as it is."""
    inside = path.startswith(os.path.join(directory, ""))
    return os.path.relpath(path, directory) if inside else path


def _at(frame: Plain) -> str:
    return f"{frame['file']}:{frame['line']}"
