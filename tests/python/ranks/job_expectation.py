"""What the first line of a case says: the code; how many GPUs; whose cause it is; who placed; what is to be changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))


@dataclass(frozen=True)
class Expectation:
    """A case's first line.

    Attributes:
        codes: of the first finding; several where it depends on whether a rank lives to tell its model.
        gpus: to emulate.
        ranks: whose cause it is.
        count: of all ranks.
        owner: who placed what is to be changed; "-" where nothing is.
        fix: a part of one of the fixes.
        severity: "error", or "warning" where the program ends well.
        waits: ranks that the report says wait or fail because of it; None where that is a matter of who is faster.
        environment: of each rank; {rank} is its number.
        memory: of each GPU.
    """

    codes: list[str]
    gpus: int
    ranks: list[int]
    count: int
    owner: str
    fix: str
    severity: str
    waits: list[int] | None
    environment: dict[str, str]
    memory: str | None


def expectation(text: str) -> Expectation:
    """Returns what the first line of ``text`` expects."""
    line = text.split("\n", 1)[0].removeprefix("# ")
    parts = dict(part.split(": ", 1) for part in line.split(" | "))
    ranks, count = parts["ranks"].split(" of ")
    name, _, value = parts.get("environment", "").partition("=")
    waits = parts.get("waits", "")
    return Expectation(
        parts["expect"].split(" or "), int(parts["gpus"]), _numbers(ranks), int(count), parts["owner"], parts["fix"],
        parts.get("severity", "error"), None if waits == "?" else _numbers(waits), {name: value} if name else {},
        parts.get("memory"),
    )  # fmt: skip


def _numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",") if each]
