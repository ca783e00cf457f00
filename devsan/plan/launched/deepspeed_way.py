"""Programs that are given DeepSpeed's JSON: the section ``zero_optimization`` says how to share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from devsan.errors import UsageError
from devsan.plan.launched.configuration import Configuration, Lever
from devsan.plan.launched.launch import Launch
from devsan.plan.launched.strategy import STRATEGIES, Strategy

_BATCH = "train_micro_batch_size_per_gpu"
_SHARED = ("stage", "offload_optimizer", "offload_param")
_RANKS = {"torchrun": "--nproc-per-node", "deepspeed": "--num_gpus", "accelerate": "--num_processes"}
_SPELLINGS = ("--nproc-per-node", "--nproc_per_node", "--num_gpus", "--num_processes")


class DeepspeedWay:
    """Makes configurations.

    Args:
        launch: of a program with such a file.
        command: that launches it.
        ranks: how many there are.

    Raises:
        UsageError: the file is no such configuration.
    """

    strategies = tuple(each for each in STRATEGIES if not each.is_fsdp)

    def __init__(self, launch: Launch, command: tuple[str, ...], ranks: int) -> None:
        self._launch = launch
        self._command = command
        self._ranks = ranks
        self._path = launch.document
        try:
            self._own = json.loads(Path(self._path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError("DeepSpeed's configuration in JSON", f"{self._path!r}: {error}") from error
        if not isinstance(self._own, dict):
            raise UsageError("DeepSpeed's configuration: a JSON object", f"another value in {self._path!r}")

    @property
    def batch(self) -> int:
        """Returns the samples of a batch, where the file says them; else 0."""
        found = self._own.get(_BATCH)
        return found if isinstance(found, int) else 0

    def can_checkpoint(self, strategy: Strategy) -> bool:
        """Returns whether activation checkpointing is a setting of the strategy: the model has to call DeepSpeed's."""
        return False

    def configuration(self, strategy: Strategy, lever: Lever | None = None) -> Configuration:
        """Returns what launches the job so."""
        lever = lever or Lever()
        zero = {key: value for key, value in self._own.get("zero_optimization", {}).items() if key not in _SHARED}
        zero["stage"] = strategy.stage
        if strategy.offloads:
            zero["offload_optimizer"] = self._offload("offload_optimizer")
        if strategy.offloads == 2:
            zero["offload_param"] = self._offload("offload_param")
        settings = {**self._own, "zero_optimization": zero}
        if lever.batch:
            settings[_BATCH] = lever.batch
        if lever.batch or lever.gpus:
            settings.pop("train_batch_size", None)  # it is the product
            settings.setdefault(_BATCH, 1)
        name = Path(self._path).name
        files = {name: json.dumps(settings, indent=2) + "\n"}
        return Configuration(strategy, self._with_ranks(lever.gpus), files, {self._path: name}, lever)

    def _offload(self, section: str) -> dict[str, Any]:
        own = self._own.get("zero_optimization", {}).get(section)
        return {**(own if isinstance(own, dict) else {}), "device": "cpu"}

    def _with_ranks(self, ranks: int) -> tuple[str, ...]:
        if not ranks:
            return self._command
        words: list[str] = []
        behind = False
        for word in self._command:
            name, equals, _ = word.partition("=")
            if behind:
                word = str(ranks)
            elif equals and name in _SPELLINGS:
                word = f"{name}={ranks}"
            behind = not behind and word in _SPELLINGS
            words.append(word)
        if not any(word.partition("=")[0] in _SPELLINGS for word in words):
            place = words.index(self._launch.facts.script)
            words[place:place] = [_RANKS[self._launch.facts.launcher], str(ranks)]
        return tuple(words)
