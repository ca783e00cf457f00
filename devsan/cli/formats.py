"""The formats of ``--format``: each is a file or a folder of devsan/render with ``render(runs)``, named here once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from devsan.job import recorded
from devsan.render import github, html, json, sarif

Runs = Sequence[Mapping[str, Any]]

TERMINAL = "terminal"

_RENDERERS: dict[str, Callable[[Runs], str]] = {
    "json": json.render, "html": lambda runs: html.render(*runs), "sarif": sarif.render, "github": github.render,
}  # fmt: skip

FORMATS = (TERMINAL, *_RENDERERS)


def rendered(name: str, runs: Runs) -> str:
    """Returns ``runs`` in the format ``name``, any but the terminal's."""
    return _RENDERERS[name](runs)


def write(name: str, runs: Runs, stream: TextIO, language: str = "") -> None:
    """Writes ``runs`` to ``stream`` in the format ``name``; what its encoding lacks is escaped.

    Args:
        name: one of FORMATS.
        runs: documents of runs.
        stream: where to write.
        language: of the terminal's format; by default the chosen one.
    """
    if name == TERMINAL:
        recorded.write(runs, stream, language)
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(rendered(name, runs).encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()
