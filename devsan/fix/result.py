"""What came of looking for a fix, as plain data: what ``devsan fix`` shows in each of its formats.

docs/reference/fix.schema.json describes it. Sentences are ``Message``s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from devsan.diagnostics.diagnostic import Edit

Status = Literal["verified", "unverified", "other", "rejected", "failed", "same", "offered"]

STATUSES: tuple[Status, ...] = ("verified", "unverified", "other", "rejected", "failed", "same", "offered")
"""The most promising first."""


@dataclass(frozen=True)
class Cost:
    """What a run took.

    Attributes:
        steps: how often it called backward; 0 where it trains nothing.
        transfers: between GPUs: in each step where what comes back comes back in each of them, else in the whole run.
        transferred: by these, in bytes.
        peaks: the most that was allocated on each GPU, in bytes.
        seconds: of wall time.
        per_step: whether ``transfers`` and ``transferred`` are those of one step.
        transferred_in_all: between GPUs, in the whole run, in bytes.
    """

    steps: int
    transfers: int
    transferred: int
    peaks: Mapping[str, int]
    seconds: float
    per_step: bool = False
    transferred_in_all: int = 0


@dataclass(frozen=True)
class TriedFix:
    """A fix, and what came of trying it.

    Attributes:
        status: "verified" (the job ends with the numbers of one device), "unverified" (it ends, and there is nothing to
            compare), "other" (another failure), "rejected" (other numbers), "failed" (the program fails by the change),
            "same" (the same failure), "offered" (not tried).
        texts: what it does, a sentence for each of its changes.
        kinds: where its changes are made.
        codes: of the causes that propose them; none where none proposes the first of them.
        edits: of all changes; the places of each are those that the change before it left.
        diff: unified, all changes in one.
        lines: that it changes; one that is replaced counts once.
        is_own: whether all of it is in files of the user's.
        is_naive: whether it is a ``.to(device)`` where the operation failed.
        evidence: of a fix that ends the job: what was seen, whole sentences.
        reason: why it is no more than its status says, one sentence; "" for one that is verified or was not tried.
        cost: of its run; None where it did not end.
        crosses: whether a rank then holds memory of another rank's GPU.
        vacated: GPUs that held weights of the model, and then hold little or nothing of them.
    """

    status: Status
    texts: tuple[str, ...]
    kinds: tuple[str, ...]
    codes: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    diff: str = ""
    lines: int = 0
    is_own: bool = True
    is_naive: bool = False
    evidence: tuple[str, ...] = ()
    reason: str = ""
    cost: Cost | None = None
    crosses: bool = False
    vacated: tuple[str, ...] = ()


@dataclass(frozen=True)
class UpstreamPatch:
    """A verified fix of a library, for its maintainers.

    Attributes:
        message: of the commit, in English: what it does, an empty line, why.
        diff: unified; paths begin with the library's package.
    """

    message: str
    diff: str


@dataclass(frozen=True)
class FixResult:
    """What came of it all.

    Attributes:
        status: "fixed", "not fixed", or "nothing to fix" where the program ends without a device failure.
        command: what was to be fixed, as it was typed.
        directory: where it ran.
        finding: the failure, as docs/reference/run.schema.json has it; None where there is none. Its code is that of
            the cause that the experiments decided.
        further: more places that the same run showed, "train.py:11:12" with what was refused there.
        fixes: the best first.
        patch: for the maintainers of a library, where the fault is theirs and a fix of it is verified.
        reference: why nothing could be compared, one sentence; "" where it could.
        error: what the program ended with where that is no device failure.
        experiments: how often the program ran.
        seconds: that all of it took.
        difference: where nothing fails, the first number that is another one on one GPU, one sentence; "" without one.
        stopped: whether the program took longer than it may, and had not failed for its devices by then.
    """

    status: Literal["fixed", "not fixed", "nothing to fix"]
    command: tuple[str, ...]
    directory: str
    finding: Mapping[str, Any] | None = None
    further: tuple[tuple[str, str], ...] = ()
    fixes: tuple[TriedFix, ...] = ()
    patch: UpstreamPatch | None = None
    reference: str = ""
    error: str = ""
    experiments: int = 0
    seconds: float = field(default=0.0, compare=False)
    difference: str = ""
    stopped: bool = False

    @property
    def best(self) -> TriedFix | None:
        """Returns the verified fix to take: of the user's own files where there is one."""
        return self.fixes[0] if self.fixes and self.fixes[0].status == "verified" else None
