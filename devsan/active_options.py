"""The options of the emulation that lasts as long as the process: what ``session`` has begun."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from devsan.options import Options

_options: Options | None = None
_format = ""


def current() -> Options | None:
    """Returns the options of the running emulation, those of real GPUs included, or None."""
    return _options


def become(options: Options | None) -> None:
    """Notes that an emulation of ``options`` begins, or with None that it has ended."""
    global _options
    _options = options


def format() -> str:
    """Returns how failures are reported: a value of the option ``format``."""
    if _options is not None:
        return _options.format
    return _format or "terminal"


def report_as(format: str) -> None:
    """Notes how failures are reported where no emulation lasts as long as the process."""
    global _format
    _format = format
