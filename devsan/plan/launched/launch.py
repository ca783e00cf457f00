"""How a job is launched, and which of its settings a plan may change."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devsan.doctor.launch import LaunchFacts, read_launch
from devsan.errors import UsageError

_LAUNCHERS = ("torchrun", "accelerate", "deepspeed")

_DEEPSPEED_OPTIONS = ("deepspeed", "deepspeed_config")
"""Options of a program that name DeepSpeed's JSON: of Trainer's arguments, and of ``add_config_arguments``."""

_OTHERS = {
    "FullyShardedDataParallel": "FSDP1, which the program itself applies",
    "fully_shard": "fully_shard, which the program itself applies",
    "parallelize_module": "tensor parallelism",
    "PipelineStage": "pipeline parallelism",
    "PipelineModule": "pipeline parallelism",
    "DistributedDataParallel": "DistributedDataParallel, which the program itself applies",
}
_LIGHTNING = ("lightning", "pytorch_lightning")
_ARGUMENTS = ("deepspeed", "fsdp", "fsdp_config")


@dataclass(frozen=True)
class Launch:
    """A launch that can be planned.

    Attributes:
        facts: of the command.
        document: the path of DeepSpeed's JSON, where the program is given one; "" where accelerate tells it.
    """

    facts: LaunchFacts
    document: str = ""


def read(words: Sequence[str], folder: str, environment: Mapping[str, str], gpus: int) -> Launch:
    """Returns how ``words`` launch a job on this machine.

    Args:
        words: the command.
        folder: where it runs.
        environment: of the command.
        gpus: that are emulated.

    Raises:
        UsageError: it is no launch whose settings are outside of the program.
    """
    facts = read_launch(words, environment, gpus)
    if facts.launcher not in _LAUNCHERS:
        raise UsageError("torchrun, accelerate launch or deepspeed", f"{words[0]!r}")
    if facts.nodes > 1:
        raise UsageError("a launch on one machine", f"one on {facts.nodes}")
    if not facts.script.endswith(".py"):
        raise UsageError("a launch of a script", repr(facts.script))
    try:
        tree = ast.parse(Path(folder, facts.script).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        raise UsageError("a script that can be read", f"{facts.script!r}: {error}") from error
    named = _names_in(tree)
    modules = {name.partition(".")[0] for name in _modules_in(tree)}
    if modules & set(_LIGHTNING):
        raise UsageError("a program of Trainer, Accelerator or deepspeed.initialize", "one of Lightning")
    given = facts.script_options()
    document = next((given[name] for name in _DEEPSPEED_OPTIONS if given.get(name, "").endswith(".json")), "")
    if document:
        return Launch(facts, os.path.join(folder, document))
    other = next((what for name, what in _OTHERS.items() if name in named), None)
    if other is not None:
        raise UsageError("a program of Trainer, Accelerator or deepspeed.initialize", other)
    if "deepspeed" in modules and "initialize" in named:
        raise UsageError("DeepSpeed's configuration in a file, by --deepspeed_config FILE or --deepspeed FILE",
                         "deepspeed.initialize without one")  # fmt: skip
    inside = sorted(_keywords_in(tree) & set(_ARGUMENTS))
    if inside or given.keys() & set(_ARGUMENTS):
        word = inside[0] if inside else next(iter(given.keys() & set(_ARGUMENTS)))
        raise UsageError("a program that leaves sharing to its launcher", f"{word}= in {facts.script}")
    if facts.launcher == "deepspeed" or not any(_is_trained(name) for name in named):
        raise UsageError("a program of Trainer, Accelerator or deepspeed.initialize", f"another: {facts.script!r}")
    return Launch(facts)


def _is_trained(name: str) -> bool:
    return name == "Accelerator" or name.endswith("Trainer")


def _names_in(tree: ast.AST) -> set[str]:
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    found |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return found | {each.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for each in node.names}


def _modules_in(tree: ast.AST) -> set[str]:
    imported = {each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names}
    return imported | {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


def _keywords_in(tree: ast.AST) -> set[str]:
    """Names of arguments with a value that is not None, of calls of ``...Arguments``."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {
        word.arg
        for call in calls
        if ast.unparse(call.func).endswith("Arguments")
        for word in call.keywords
        if word.arg is not None and not (isinstance(word.value, ast.Constant) and not word.value.value)
    }
