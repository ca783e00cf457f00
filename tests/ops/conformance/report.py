"""What became of samples: of one subject, and of all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from .known import Known


@dataclass
class Report:
    """Of one subject: counts for each kind of check, and what differs."""

    subject: str
    agreeing: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)  # of the agreeing: both raised the same
    lacked: Counter[str] = field(
        default_factory=Counter
    )  # the CPU has no kernel for the type, so nothing to compare with
    failing: list[tuple[str, int, list[str]]] = field(default_factory=list)  # kind, sample, differences
    seconds: float = 0


class Totals:
    """Of all subjects."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.operators: dict[str, set[str]] = {}
        self.subjects = 0
        self.agreeing: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.lacked: Counter[str] = Counter()
        self.explained: Counter[str] = Counter()
        self.failing: Counter[str] = Counter()
        self.failures: list[str] = []

    def add(self, report: Report) -> None:
        database, name, _ = report.subject.split("/")
        self.operators.setdefault(database, set()).add(name)
        self.subjects += 1
        self.agreeing += report.agreeing
        self.refused += report.refused
        self.lacked += report.lacked
        self.known.saw_agree(report.subject, report.agreeing)
        for kind, sample, differences in report.failing:
            if self.known.explains(report.subject, kind, differences):
                self.explained[kind] += 1
            else:
                self.failing[kind] += 1
                self.failures.append(f"{report.subject}, {kind}, sample {sample}: {'; '.join(differences)}")

    def table(self, order: list[str]) -> str:
        columns = (self.agreeing, self.refused, self.explained, self.failing, self.lacked)
        heads = ("samples", "agree", "of them: both refuse", "known", "failing", "beyond the CPU")
        names = [name for name in order if any(column[name] for column in columns)]
        rows = []
        for name in names:
            compared = self.agreeing[name] + self.explained[name] + self.failing[name]
            rows.append((name, compared, *(column[name] for column in columns)))
        rows.append(("all", *(sum(row[i] for row in rows) for i in range(1, 7))))
        lines = [f"| check | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
        lines += [f"| {' | '.join(f'{cell:,}' if isinstance(cell, int) else cell for cell in row)} |" for row in rows]
        return "\n".join(lines)

    def summary(self) -> str:
        counts = ", ".join(f"{len(names)} of {database}" for database, names in self.operators.items())
        compared = sum(self.agreeing.values()) + sum(self.explained.values()) + sum(self.failing.values())
        share = sum(self.explained.values()) / max(1, compared)
        return (
            f"{sum(map(len, self.operators.values()))} operators, modules and optimizers ({counts}), "
            f"{self.subjects:,} with their types; {compared:,} samples: {sum(self.agreeing.values()):,} agree, "
            f"{sum(self.explained.values()):,} known ({share:.2%}), {sum(self.failing.values()):,} failing"
        )
