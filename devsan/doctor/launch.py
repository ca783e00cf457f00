"""A launch command, read and not run: who starts how many ranks of what.

Sources: torch/distributed/run.py, deepspeed/launcher/runner.py and accelerate/commands/launch.py name the options; a
rank's number of GPUs is one for all of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*\Z")
_TORCHRUN = ("torch.distributed.run", "torch.distributed.launch", "torch.distributed.launcher")

# Options without a value; of every other one the next word is the value, unless it is written with "=".
_FLAGS = {
    "torchrun": {"standalone", "module", "m", "no_python", "run_path", "use_env", "virtual_local_rank"},
    "deepspeed": {"module", "no_python", "no_local_rank", "no_ssh_check", "force_multi", "save_pid",
                  "bind_cores_to_rank", "no_ssh", "elastic_training", "q", "quiet"},
    "accelerate": {"multi_gpu", "cpu", "tpu", "use_deepspeed", "use_fsdp", "use_megatron_lm", "m", "module",
                   "no_python", "same_network", "q", "quiet", "debug", "tpu_cluster", "no_tpu_cluster",
                   "enable_cpu_affinity", "use_parallelism_config", "use_xpu", "downcast_bf16",
                   "dynamo_use_dynamic", "dynamo_use_fullgraph", "dynamo_use_regional_compilation",
                   "fp8_use_autocast_during_eval", "tpu_use_sudo"},
    "mpirun": {"allow-run-as-root", "oversubscribe", "tag-output"},
    "srun": {"exclusive", "overlap", "unbuffered", "u", "l", "label"},
    "python": {"u", "O", "OO", "B", "E", "I", "s", "S", "v", "q"},
}  # fmt: skip


COUNTS = {
    "torchrun": ("nproc_per_node", "nnodes"),
    "deepspeed": ("num_gpus", "num_nodes"),
    "accelerate": ("num_processes", "num_machines"),
}  # fmt: skip
"""The options of each launcher that say how many ranks there are."""

_ABBREVIATED = {
    "torchrun": COUNTS["torchrun"],
    "deepspeed": (*COUNTS["deepspeed"], "include", "exclude", "hostfile"),
}  # fmt: skip
"""Those that are read here, of launchers that take the beginning of a name for all of it."""

_FEW = 8  # words of a command whose script is not known


@dataclass(frozen=True)
class LaunchFacts:
    """How a job is started.

    Attributes:
        ranks: of all machines together; 0 where it is not known.
        launcher: "torchrun", "accelerate", "deepspeed", "mpirun", "srun", "python"; "" without a command.
        zero_stage: of the DeepSpeed configuration, where there is one.
        visible: CUDA_VISIBLE_DEVICES that ranks start with; None where it is not set, or not known.
        per_node: ranks on this machine; 0 where it is not known. "auto" and "gpu" are as many as it has GPUs: -1.
        nodes: machines.
        script: the program; "" where it is not to be seen.
        words: what is given to the script.
        options: the launcher's own, by their names with underscores.
        environment: what the command sets before the launcher.
        command: as it was given.
    """

    ranks: int = 0
    launcher: str = ""
    zero_stage: int | None = None
    visible: str | None = None
    per_node: int = 0
    nodes: int = 1
    script: str = ""
    words: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()

    def shown(self) -> str:
        """Returns the command up to its script, with "..." for what the script is given; "" without a command."""
        own = self.command[: len(self.command) - len(self.words)] if self.script else self.command[:_FEW]
        return " ".join([*own, "..."] if len(own) < len(self.command) else own)

    @property
    def changes_folder(self) -> bool:
        """Whether ``env`` starts the launcher in another folder."""
        before = self.command[: len(self.command) - len(self.words)] if self.command[:1] == ("env",) else ()
        return any(word == "-C" or word.startswith("--chdir") for word in before)

    @property
    def lacks_program(self) -> bool:
        """Whether a launcher that needs a program is given none."""
        named = {"m", "module", "h", "help", "version"} & self.options.keys()
        taken = any(value.endswith(".py") for value in self.options.values())  # behind an option that is not known here
        tool = any(word.startswith(("accelerate.", "deepspeed.")) and not word.endswith((".launch", ".runner"))
                   for word in self.command)  # fmt: skip
        return self.launcher in ("torchrun", "accelerate", "deepspeed") and not (self.script or named or taken or tool)

    def script_options(self) -> dict[str, str]:
        """Returns what the script is given as ``--name value`` or ``--name=value``; a flag's value is "True"."""
        return dict(_pairs(self.words))


def read_launch(command: Sequence[str], environment: Mapping[str, str], gpus: int | None = None) -> LaunchFacts:
    """Reads ``command``; without one, what the environment of a launched process says.

    Args:
        command: its words.
        environment: of the doctor, which the job inherits.
        gpus: that a process would see here; None where it is not known.
    """
    words = list(command)
    assigned: dict[str, str] = {}
    if words[:1] == ["env"]:
        environment = _of_env(words, environment)
    while words and (match := _ASSIGNMENT.fullmatch(words[0])):
        assigned[match[1]] = match[2]
        words.pop(0)
    seen = {**environment, **assigned}
    visible = seen.get("CUDA_VISIBLE_DEVICES")
    if not words:
        ranks = _number(seen.get("WORLD_SIZE"))
        return LaunchFacts(ranks, visible=visible, per_node=_number(seen.get("LOCAL_WORLD_SIZE")),
                           environment=assigned, command=tuple(command))  # fmt: skip
    launcher, rest = _launcher(words)
    options, script, script_words = _split(launcher, rest)
    per_node, nodes, ranks = _counts(launcher, options, gpus, seen)
    visible = _visible(launcher, options, visible)
    return LaunchFacts(
        ranks, launcher, None, visible, per_node, nodes, script, tuple(script_words), options, assigned, tuple(command)
    )


def _of_env(words: list[str], environment: Mapping[str, str]) -> Mapping[str, str]:
    """Takes ``env`` and its options away, and returns the environment that it leaves."""
    words.pop(0)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        name, _, value = word.partition("=")
        if word in ("-i", "-", "--ignore-environment"):
            environment = {}
        elif word in ("-u", "--unset", "-C", "--chdir", "-S", "--split-string"):
            value = words.pop(0) if words else ""
        if name in ("-u", "--unset"):
            environment = {name: each for name, each in environment.items() if name != value}
        if word == "--":
            break
    return environment


def _launcher(words: list[str]) -> tuple[str, list[str]]:
    name = os.path.basename(words[0])
    if name in ("torchrun", "deepspeed", "mpirun", "srun"):
        return name, words[1:]
    if name in ("mpiexec", "orterun"):
        return "mpirun", words[1:]
    if name == "accelerate" and words[1:2] == ["launch"]:
        return "accelerate", words[2:]
    if _PYTHON.match(name):
        for at, word in enumerate(words[1:-1], 1):
            if word == "-m":
                module = words[at + 1]
                if module in _TORCHRUN:
                    return "torchrun", words[at + 2 :]
                if module.startswith("accelerate"):
                    return "accelerate", words[at + 3 :] if words[at + 2 : at + 3] == ["launch"] else words[at + 2 :]
                if module.startswith("deepspeed"):
                    return "deepspeed", words[at + 2 :]
                return "python", words[at:]
            if not word.startswith("-"):
                break
        return "python", words[1:]
    if name == "devsan" and words[1:2] == ["run"]:
        return _launcher(words[words.index("--") + 1 :]) if "--" in words[:-1] else ("python", words[2:])
    return ("python", words) if words[0].endswith(".py") else (name, words[1:])


def _split(launcher: str, words: list[str]) -> tuple[dict[str, str], str, list[str]]:
    """The launcher's options, the script and the script's words."""
    flags = _FLAGS.get(launcher, set())
    options: dict[str, str] = {}
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if not word.startswith("-") or len(word) == 1:
            break
        name, equals, value = word.lstrip("-").partition("=")
        name = name if launcher in ("mpirun", "srun") else _whole(launcher, name.replace("-", "_"))
        if equals:
            options[name] = value
        elif launcher == "mpirun" and name in ("x", "mca", "map-by", "bind-to") and at + 1 < len(words):
            at += 2 if name == "mca" else 1
        elif name in flags or at + 1 >= len(words):
            options[name] = "True"
        else:
            at += 1
            options[name] = words[at]
        at += 1
    rest = words[at:]
    if launcher in ("mpirun", "srun") and rest and _PYTHON.match(os.path.basename(rest[0])):
        rest = [word for word in rest[1:] if word not in ("-u", "-O")] if rest[1:2] != ["-m"] else rest[1:]
    if rest[:1] == ["-m"] or "m" in options or "module" in options:
        return options, "", rest[1:]
    return options, rest[0] if rest else "", rest[1:]


def _whole(launcher: str, name: str) -> str:
    """The option that ``name`` abbreviates."""
    begun = [option for option in _ABBREVIATED.get(launcher, ()) if option.startswith(name)]
    return begun[0] if len(begun) == 1 and len(name) > 1 and name not in _FLAGS[launcher] else name


def _counts(
    launcher: str, options: Mapping[str, str], gpus: int | None, environment: Mapping[str, str]
) -> tuple[int, int, int]:
    """Ranks on this machine, machines, ranks in all."""
    if launcher == "torchrun":
        said = options.get("nproc_per_node", environment.get("PET_NPROC_PER_NODE", "1"))
        per_node = -1 if said in ("auto", "gpu") else _number(said)
        nodes = _number((options.get("nnodes") or environment.get("PET_NNODES") or "1").rpartition(":")[2]) or 1
        many = (gpus or 0) if per_node < 0 else per_node
        return per_node, nodes, many * nodes
    if launcher == "deepspeed":
        return _deepspeed_counts(options, gpus)
    if launcher == "accelerate":
        ranks, nodes = _number(options.get("num_processes")), _number(options.get("num_machines")) or 1
        return ranks // nodes, nodes, ranks
    if launcher in ("mpirun", "srun"):
        ranks = next((_number(options[name]) for name in ("np", "n", "ntasks") if name in options), 0)
        nodes = _number(options.get("N") or options.get("nodes")) or 1
        each = _number(options.get("ntasks-per-node"))
        return each or (ranks // nodes), nodes, ranks or each * nodes
    if launcher == "python":
        ranks = _number(environment.get("WORLD_SIZE")) or 1
        return _number(environment.get("LOCAL_WORLD_SIZE")) or (1 if ranks == 1 else 0), 1, ranks
    return 0, 1, 0


def _visible(launcher: str, options: Mapping[str, str], inherited: str | None) -> str | None:
    """CUDA_VISIBLE_DEVICES as a launcher's own options set it: those win over what it inherits."""
    if launcher == "deepspeed" and not options.keys().isdisjoint(("include", "exclude", "num_gpus", "num_nodes")):
        if "include" in options:
            hosts = options["include"].split("@")
            return hosts[0].partition(":")[2] or None if len(hosts) == 1 else None
        return ",".join(map(str, range(_number(options.get("num_gpus"))))) or None
    if launcher == "accelerate" and options.get("gpu_ids", "all") != "all":
        return options["gpu_ids"]
    return inherited


def _deepspeed_counts(options: Mapping[str, str], gpus: int | None) -> tuple[int, int, int]:
    nodes = _number(options.get("num_nodes")) or 1
    if "include" in options:
        hosts = [host.partition(":") for host in options["include"].split("@")]
        counts = [len(slots.split(",")) if colon else 0 for _, colon, slots in hosts]
        return (counts[0], len(hosts), sum(counts) if all(counts) else 0)
    if "hostfile" in options or "exclude" in options:
        return 0, nodes, 0
    per_node = _number(options.get("num_gpus"))
    if per_node:
        return per_node, nodes, per_node * nodes
    return -1, nodes, (gpus or 0) * nodes


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.startswith("--"):
            continue
        name, equals, value = word[2:].partition("=")
        if not equals:
            value = "True"
            if at < len(words) and not words[at].startswith("--"):
                value = words[at]
                at += 1
        yield name.replace("-", "_"), value


def _number(text: str | None) -> int:
    text = (text or "").strip()
    return int(text) if text.isdecimal() and len(text) < 8 else 0
