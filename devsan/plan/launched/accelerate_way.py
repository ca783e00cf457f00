"""Programs of Trainer and Accelerator: accelerate tells them how to share, by its configuration file.

The keys are those that ``accelerate config`` writes (accelerate/commands/config/config_args.py), the variables that
come of them those of accelerate/utils/launch.py. What the user's own file says beside that is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from devsan.errors import UsageError
from devsan.plan.launched.configuration import Configuration, Lever
from devsan.plan.launched.launch import Launch
from devsan.plan.launched.strategy import STRATEGIES, Strategy

FILE = "accelerate.yaml"

_BATCH = "per_device_train_batch_size"
_KEPT = ("mixed_precision", "downcast_bf16", "dynamo_config", "gpu_ids", "main_training_function")


class AccelerateWay:
    """Makes configurations.

    Args:
        launch: of a program that accelerate tells.
        folder: where it runs.
        ranks: how many there are.
    """

    strategies = STRATEGIES

    def __init__(self, launch: Launch, folder: str, ranks: int) -> None:
        self._facts = launch.facts
        self._ranks = ranks
        self._own = _own(launch, folder)

    @property
    def batch(self) -> int:
        """Returns the samples of a batch, where the command says them; else 0."""
        text = self._facts.script_options().get(_BATCH, "")
        return int(text) if text.isdecimal() else 0

    def can_checkpoint(self, strategy: Strategy) -> bool:
        """Returns whether activation checkpointing is a setting of the strategy."""
        return strategy.is_fsdp

    def configuration(self, strategy: Strategy, lever: Lever | None = None) -> Configuration:
        """Returns what launches the job so."""
        import yaml

        lever = lever or Lever()
        settings = {
            "compute_environment": "LOCAL_MACHINE", "machine_rank": 0, "num_machines": 1, "use_cpu": False,
            "num_processes": lever.gpus or self._ranks, "mixed_precision": "no", **self._own,
            "distributed_type": "MULTI_GPU" if strategy.is_ddp else "FSDP" if strategy.is_fsdp else "DEEPSPEED",
        }  # fmt: skip
        if strategy.is_fsdp:
            settings["fsdp_config"] = _fsdp(lever)
        elif not strategy.is_ddp:
            settings["deepspeed_config"] = _deepspeed(strategy)
        words = _with_batch(self._facts.words, lever.batch)
        command = ("accelerate", "launch", "--config_file", f"{{folder}}/{FILE}", "--main_process_port", "0")
        return Configuration(
            strategy, (*command, self._facts.script, *words), {FILE: yaml.safe_dump(settings)}, lever=lever
        )


def _own(launch: Launch, folder: str) -> dict[str, Any]:
    """What is kept of the user's settings: of the configuration file, and of options of ``accelerate launch``."""
    options = launch.facts.options if launch.facts.launcher == "accelerate" else {}
    found: dict[str, Any] = {}
    if "config_file" in options:
        import yaml

        try:
            found = yaml.safe_load(Path(folder, options["config_file"]).read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise UsageError("a configuration of accelerate", f"{options['config_file']!r}: {error}") from error
    found.update({name: options[name] for name in _KEPT if name in options})
    return {name: value for name, value in found.items() if name in _KEPT}


def _fsdp(lever: Lever) -> dict[str, Any]:
    return {
        "fsdp_version": 2, "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP", "fsdp_reshard_after_forward": True,
        "fsdp_offload_params": False, "fsdp_state_dict_type": "SHARDED_STATE_DICT",
        "fsdp_cpu_ram_efficient_loading": False, "fsdp_activation_checkpointing": lever.checkpointing,
    }  # fmt: skip


def _deepspeed(strategy: Strategy) -> dict[str, Any]:
    settings: dict[str, Any] = {"zero_stage": strategy.stage, "zero3_init_flag": strategy.stage == 3}
    settings["offload_optimizer_device"] = "cpu" if strategy.offloads else "none"
    settings["offload_param_device"] = "cpu" if strategy.offloads == 2 else "none"
    return settings


def _with_batch(words: Iterable[str], batch: int) -> list[str]:
    if not batch:
        return list(words)
    found: list[str] = []
    for word in words:
        name, equals, _ = word.partition("=")
        if found and found[-1].lstrip("-") == _BATCH:
            found.append(str(batch))
        else:
            found.append(f"{name}={batch}" if equals and name.lstrip("-") == _BATCH else word)
    return found
