"""What the first line of a case says: the code; how many GPUs; the operands' names; the owner of the one to change."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))


@dataclass(frozen=True)
class Expectation:
    """A case's first line.

    Attributes:
        code: of the finding.
        gpus: to emulate.
        operands: names that the facts must hold; empty where there is no tensor to name.
        owner: of the operand that is to be changed; "-" where nobody placed one.
        miss: why another code is given, where that is known; "" as a rule.
    """

    code: str
    gpus: int
    operands: tuple[str, ...]
    owner: str
    miss: str = ""


def expectation(text: str) -> Expectation:
    """Returns what the first line of ``text`` expects."""
    line = text.split("\n", 1)[0].removeprefix("# ")
    parts = dict(part.split(": ", 1) for part in line.split(" | "))
    names = tuple(name for name in _names(parts["operands"]) if name != "-")
    return Expectation(parts["expect"], int(parts["gpus"]), names, parts["owner"], parts.get("miss", ""))


def _names(text: str) -> list[str]:
    """Splits at commas outside of brackets: a name may be ``x[:, 0]``."""
    names, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            names.append("")
        else:
            names[-1] += letter
    return [name.strip() for name in names]
