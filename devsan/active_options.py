"""The options of the emulation that lasts as long as the process: what ``session`` has begun."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from devsan.options import Options

_options: Options | None = None


def current() -> Options | None:
    """Returns the options of the running emulation, those of real GPUs included, or None."""
    return _options


def become(options: Options | None) -> None:
    """Notes that an emulation of ``options`` begins, or with None that it has ended."""
    global _options
    _options = options
