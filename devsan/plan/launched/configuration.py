"""What launches a job with one strategy: a command, and the files that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from devsan.plan.launched.strategy import Strategy


@dataclass(frozen=True)
class Lever:
    """What else is changed.

    Attributes:
        gpus: ranks, each with a GPU; 0 leaves them.
        batch: samples that a rank takes at once; 0 leaves them.
        checkpointing: whether activations are computed again in the backward pass.
    """

    gpus: int = 0
    batch: int = 0
    checkpointing: bool = False


@dataclass(frozen=True)
class Configuration:
    """A launch with one strategy.

    Attributes:
        strategy: the way to share.
        command: what launches it; ``{folder}`` stands for where the files are.
        files: their texts by their names.
        replaces: by the path of a file of the user's, the name of the file that is in its place.
        lever: what else is changed.
    """

    strategy: Strategy
    command: tuple[str, ...]
    files: Mapping[str, str]
    replaces: Mapping[str, str] = field(default_factory=dict)
    lever: Lever = field(default_factory=Lever)

    def command_in(self, folder: str) -> list[str]:
        """Returns the command where the files are in ``folder``."""
        return [word.replace("{folder}", folder) for word in self.command]
