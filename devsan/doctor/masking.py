"""What is pasted elsewhere: without paths, host and user names, and addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from devsan.doctor.facts import System

_ADDRESS = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b")
_PATH = re.compile(r"(?<![\w.~/])/(?:[^\s:;,\"'`()\[\]{}<>/]+/)+(?P<last>[^\s:;,\"'`()\[\]{}<>/]*)")
# What hubs, clouds and services give out, by how it begins; and what is named as a secret, whatever it is.
_TOKEN = re.compile(r"\b(?:hf_|api_org_|gh[pousr]_|github_pat_|glpat-|sk-|xox[abprs]-|AKIA|eyJ)[\w.-]{8,}")
_SECRET = re.compile(r"(?i)((?:token|secret|password|passwd|api_?key|credentials?)\w*[=:]\s*)[^\s,;]+")
_PUBLIC = ("/dev/", "/proc/", "/sys/")
_LOCAL = ("127.0.0.1", "0.0.0.0")

Value = TypeVar("Value")


class Mask:
    """Replaces what tells whose machine it is.

    Args:
        system: whose names are replaced.
    """

    def __init__(self, system: System) -> None:
        names = {system.host: "HOST", system.host.partition(".")[0]: "HOST", system.user: "USER"}
        # A user called "a" would take the rest of the text along.
        self._names = [(re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])"), put)
                       for name, put in names.items() if len(name) > 1]  # fmt: skip
        self._home = system.home.rstrip("/")
        self._directory = system.directory.rstrip("/")

    def text(self, text: str) -> str:
        """Returns ``text`` with paths cut to their last part, and names and addresses replaced."""
        if self._directory:
            text = text.replace(f"{self._directory}/", "./")
        if self._home:
            text = re.sub(rf"{re.escape(self._home)}(?=/|\b)", "~", text)
        text = re.sub(r"~/(?:[^\s:;,\"'`/]+/)*", "~/.../", text)
        text = _PATH.sub(_shortened, text)
        text = _TOKEN.sub("TOKEN", _SECRET.sub(r"\1TOKEN", text))
        text = _ADDRESS.sub(lambda match: match[0] if match[0] in _LOCAL else "ADDRESS", text)
        for pattern, put in self._names:
            text = pattern.sub(put, text)
        return text

    def all(self, value: Value) -> Value:
        """Returns a JSON-able value with every text in it masked."""
        made: Any = value
        if isinstance(value, str):
            made = self.text(value)
        elif isinstance(value, Mapping):
            made = {name: self.all(each) for name, each in value.items()}
        elif isinstance(value, (list, tuple)):
            made = [self.all(each) for each in value]
        return made  # type: ignore[no-any-return]


def _shortened(match: re.Match[str]) -> str:
    path = match[0]
    return path if path.startswith(_PUBLIC) else f".../{match['last']}"
