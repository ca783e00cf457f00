"""What was found for a group of failures, in sentences: for the terminal and the page of a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from devsan.render.language import Language

if TYPE_CHECKING:
    from devsan.sweep.result import Check, GroupFix


def best_of(fix: GroupFix) -> dict[str, Any] | None:
    """Returns the verified fix that is shown, as docs/reference/fix.schema.json has it; None where there is none."""
    return next((each for each in fix.result["fixes"] if each["status"] == "verified"), None)


def said_of_tried(count: int, say: Language) -> str:
    """Returns how many changes were tried for nothing."""
    if count == 1:
        return say("1 change was tried, and the program does not end with the numbers of one device")
    return say("{count} changes were tried, and none ends with the numbers of one device", count=str(count))


def said_of(fix: GroupFix, say: Language) -> Iterator[tuple[str, str]]:
    """Yields what was found: a head ("fixed", "patch", "not fixed") and a sentence."""
    best = best_of(fix)
    if best is None:
        count = sum(each["status"] != "offered" for each in fix.result["fixes"])
        yield say("not fixed"), said_of_tried(count, say) if count else say("no change is known that could be tried")
        return
    text = say("; ").join(map(say.text, best["texts"]))
    yield say("fixed"), text + _checked(fix.checks, say)
    patch = fix.result["patch"]
    if patch is not None and patch["diff"] != best["diff"]:
        yield say("patch"), patch["message"].partition("\n")[0] + _checked(fix.patch_checks, say)


def _checked(checks: Sequence[Check], say: Language) -> str:
    if not checks:
        return ""
    held = sum(check.status == "verified" for check in checks)
    return say(" (verified in {held} of {count} other cells, too)", held=str(held), count=str(len(checks)))
