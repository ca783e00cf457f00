"""The edits of configuration files, tried before they are shown or written.

A file is edited only if it then still reads, if what was found there is gone, and if nothing worse has come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from devsan.diagnostics.diagnostic import Diagnostic, Edit
from devsan.doctor.case import Case
from devsan.doctor.check import check
from devsan.doctor.document import parse_document
from devsan.doctor.text_edits import replace_text, spliced, unified_diff


@dataclass(frozen=True)
class FixedFile:
    """A file that was edited, in memory: its name, and its text before and after."""

    file: str
    before: str
    after: str

    def diff(self) -> str:
        """Returns the change as a unified diff."""
        return unified_diff(self.file, self.before, self.after)

    def write(self) -> None:
        """Writes the file in one step, with the mode that it has.

        Raises:
            OSError: it cannot be written, or has changed since.
        """
        path = Path(self.file).resolve()
        with path.open(encoding="utf-8", newline="") as file:
            if file.read() != self.before:
                raise OSError(0, "the file has changed since it was checked")
        replace_text(path, self.after, "utf-8")


def fixed_files(case: Case, findings: Sequence[Diagnostic], unsafe: bool) -> tuple[list[FixedFile], list[str]]:
    """Returns the files with their edits, and a sentence for each edit that was not made.

    Args:
        case: what was checked.
        findings: of the case.
        unsafe: also edits that ``--fix`` does not make unasked.
    """
    made, notes = [], []
    for document in case.documents:
        good: list[Edit] = []
        for finding in findings if document.root is not None else ():
            own = [
                edit
                for fix in finding.fixes
                for edit in fix.edits
                if edit.place.file == document.file and (edit.safe or unsafe)
            ]
            # One finding after the other, each together with those that were good.
            after = edited(document.text, [*good, *own]) if own else None
            if not own or after == edited(document.text, good):
                continue
            wrong = _wrong(case, document.file, after, finding, findings)
            if wrong:
                notes.append(f"{document.file}: the fix of {finding.code} was not made: {wrong}")
            else:
                good += own
        after = edited(document.text, good)
        if good and after is not None and after != document.text:
            made.append(FixedFile(document.file, document.text, after))
    return made, notes


def _wrong(case: Case, file: str, after: str | None, finding: Diagnostic, findings: Sequence[Diagnostic]) -> str:
    """Why a file may not be edited so; "" where it may."""
    if after is None:
        return "its text does not stand where it was read"
    documents = []
    for document in case.documents:
        if document.file == file:
            again = parse_document(file, after, document.yaml)
            if again.root is None or again.error is not None:
                return "the file would no longer read"
            documents.append(replace(again, kind=document.kind))
        else:
            documents.append(document)
    left = check(replace(case, documents=tuple(documents)), lambda rule, error: None)
    if any((each.code, each.title) == (finding.code, finding.title) for each in left):
        return "the fault would stay"
    known = {(each.code, each.title) for each in findings}
    worse = next((each for each in left if each.severity == "error" and (each.code, each.title) not in known), None)
    return f"{worse.code} would come: {worse.title}" if worse is not None else ""


def edited(whole: str, edits: Sequence[Edit]) -> str | None:
    """Returns ``whole`` with edits applied; None where they do not fit it. Of two that overlap the first counts."""
    offsets = [0]
    for line in whole.split("\n"):
        offsets.append(offsets[-1] + len(line) + 1)
    return spliced(whole, offsets[:-1], edits)
