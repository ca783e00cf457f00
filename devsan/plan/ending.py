"""How a rehearsal of a plan ended: it fits, a GPU is out of memory, or the program fails for another reason."""

from __future__ import annotations

import re
from dataclasses import dataclass

from devsan.diagnostics.messages import message
from devsan.fix.outcome import Outcome

NO_LIMIT = 1 << 62
"""Of what a process of a rehearsal may map: tensors without numbers take none of it."""

_OUT_OF_MEMORY = re.compile(
    r"CUDA out of memory\.(?: Tried to allocate (?P<size>[\d.]+ \w+)\.)?.* GPU (?P<ordinal>\d+) has"
)

_CONVERSION = "automatic conversion of the weights"
"""In what transformers ends with where a weight could not be made, for whatever reason: its log has that."""


@dataclass(frozen=True)
class Ending:
    """How one rehearsal ended.

    Attributes:
        reason: why it does not fit; "" where it does.
        exhausted: the ordinal of the GPU that had no room left; None where memory was not why it ended.
    """

    reason: str = ""
    exhausted: int | None = None

    @property
    def fails(self) -> bool:
        """Returns whether the program fails for another reason than memory."""
        return bool(self.reason) and self.exhausted is None


def _exhausted(ordinal: str, size: str | None) -> str:
    if size is None:
        return message("cuda:{ordinal} is out of memory", ordinal=ordinal)
    return message("cuda:{ordinal} is out of memory: {size} requested", ordinal=ordinal, size=size)


def ending_of(outcome: Outcome, *beside: str) -> Ending:
    """Returns how the program ended. Out of memory that it catches does not count.

    Args:
        outcome: of the program.
        beside: texts that may say that a GPU is out of memory, where neither a finding nor the error does.
    """
    texts = [*(str(finding["sentence"]) for finding in outcome.findings), outcome.error, *beside]
    if _CONVERSION in outcome.error:
        texts.append(outcome.output)
    found = next((match for text in texts if (match := _OUT_OF_MEMORY.search(text))), None)
    if found is not None and not outcome.ended:
        return Ending(_exhausted(found["ordinal"], found["size"]), int(found["ordinal"]))
    if outcome.timed_out:
        return Ending(message("it takes too long"))
    error = next((each for each in outcome.findings if each["severity"] == "error"), None)
    if error is not None:
        return Ending(message("{code}: {title}", code=error["code"], title=error["title"]))
    if not outcome.ended:
        return Ending(outcome.error or message("exit code {code}", code=outcome.exit_code))
    return Ending()
