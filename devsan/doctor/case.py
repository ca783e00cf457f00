"""All that the rules may look at."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from devsan.diagnostics.diagnostic import Place
from devsan.doctor.document import Document, read_document
from devsan.doctor.facts import Facts
from devsan.doctor.launch import LaunchFacts
from devsan.doctor.nodes import Malformed, Node
from devsan.doctor.script import Script, read_script
from devsan.doctor.settings import Settings, whole
from devsan.doctor.source import visible_of
from devsan.doctor.source.visible import Visible

FEW = 3
"""Of more files, such as those of a repository that a hook gives, most are of other jobs."""

CONFIGURATIONS = (".json", ".hjson", ".yaml", ".yml")


@dataclass(frozen=True)
class Case:
    """What there is to check.

    Attributes:
        facts: of the machine.
        launch: how the job is started.
        documents: configurations that were named, on the command line or by one another.
        scripts: training scripts.
        broken: where a script is no Python source.
        visible: CUDA_VISIBLE_DEVICES as the script of the launch sets it for itself, and where; None where it does not.
    """

    facts: Facts
    launch: LaunchFacts
    documents: tuple[Document, ...] = ()
    scripts: tuple[Script, ...] = ()
    broken: tuple[Malformed, ...] = ()
    visible: tuple[Visible, Place] | None = None

    def deepspeed(self) -> Iterator[Settings]:
        """Yields the documents that configure DeepSpeed."""
        for document in self.documents:
            if document.root is None:
                continue
            if document.kind == "deepspeed":
                yield Settings(document)
            elif document.kind == "accelerate" and _distributed_type(document.root) == "DEEPSPEED":
                section = document.at("deepspeed_config")
                if section is None or section.node.at("deepspeed_config_file") is None:
                    yield Settings(document)

    def of_kind(self, kind: str) -> Iterator[Document]:
        """Yields the readable documents of ``kind``."""
        return (document for document in self.documents if document.kind == kind and document.root is not None)

    @property
    def world(self) -> int:
        """How many ranks there will be; 0 where it is not known."""
        if self.launch.ranks and self.launch.launcher != "accelerate":
            return self.launch.ranks if self.launch.launcher != "python" or self.launch.ranks > 1 else 0
        if self.launch.ranks:
            return self.launch.ranks
        files = list(self.of_kind("accelerate")) if self.launch.launcher == "accelerate" else []
        return _processes(files[0]) if len(files) == 1 else 0

    def world_of(self, document: Document) -> int:
        """Returns how many ranks there will be under ``document``; 0 where it is not known."""
        partner = self.partner(document)
        return self.world or (_processes(partner) if partner is not None and not self.launch.launcher else 0)

    def partner(self, document: Document) -> Document | None:
        """Returns the accelerate file that names ``document`` as its DeepSpeed file."""
        for other in self.of_kind("accelerate"):
            named = other.at("deepspeed_config.deepspeed_config_file")
            file = named.node.value if named is not None else None
            if isinstance(file, str) and os.path.realpath(file) == os.path.realpath(document.file):
                return other
        return None

    def world_source(self) -> str:
        """Returns who says how many ranks there will be."""
        if self.launch.ranks and self.launch.launcher:
            return f"`{self.launch.shown()}`"
        return "WORLD_SIZE" if self.launch.ranks else "num_processes"

    def filled_by(self) -> str:
        """Returns who replaces "auto": "Trainer", "accelerate", "Lightning", "nobody", or "" where it is not known."""
        for script in self.scripts:
            if script.training_arguments() or script.named("HfArgumentParser"):
                return "Trainer"
            if script.named("Accelerator"):
                return "accelerate"
            if script.uses("lightning", "pytorch_lightning"):
                return "Lightning"
            by_hand = any(call.name == "deepspeed.initialize" for call in script.calls)
            if by_hand or (script.uses("deepspeed") and script.named("initialize")
                           and not script.uses("transformers", "accelerate")):  # fmt: skip
                return "nobody"
        return "accelerate" if any(True for _ in self.of_kind("accelerate")) else ""


def _processes(document: Document) -> int:
    member = document.at("num_processes")
    return max(0, whole(member.node.value) or 0) if member is not None else 0


def _distributed_type(root: Node) -> str:
    member = root.at("distributed_type")
    return str(member.node.value).upper() if member is not None else ""


def collect(facts: Facts, launch: LaunchFacts, paths: Sequence[str], launched: Mapping[str, str] | None = None) -> Case:
    """Reads ``paths``, the script of the launch, and the configurations that they name where these exist.

    Args:
        facts: of the machine.
        launch: how the job is started.
        paths: configurations and scripts; folders are for `devsan.doctor.source`.
        launched: further configurations, named by the launch command: the file and its kind.
    """
    scripts: list[Script] = []
    broken: list[Malformed] = []
    named_scripts = [path for path in paths if path.endswith(".py")]
    if len(named_scripts) > FEW:
        named_scripts = []
    for path in dict.fromkeys([*named_scripts, launch.script]):
        script = read_script(path) if path.endswith(".py") else None
        if isinstance(script, Script):
            scripts.append(script)
        elif script is not None:
            broken.append(script)
    wanted: dict[str, str | None] = {path: None for path in paths if path.lower().endswith(CONFIGURATIONS)}
    for file, kind in {**named_by_launch(launch), **(launched or {})}.items():
        wanted.setdefault(file, None)
        wanted[file] = wanted[file] or kind
    for script in scripts:
        for file in _named_by_script(script):
            wanted.setdefault(file, "deepspeed")
    documents: list[Document] = []
    seen: set[str] = set()
    queue = list(wanted.items())
    while queue:
        file, kind_ = queue.pop(0)
        if os.path.realpath(file) in seen:
            continue
        seen.add(os.path.realpath(file))
        document = read_document(file, kind_)  # type: ignore[arg-type]
        documents.append(document)
        named = document.at("deepspeed_config.deepspeed_config_file") if document.kind == "accelerate" else None
        if named is not None and isinstance(named.node.value, str) and os.path.isfile(named.node.value):
            queue.append((named.node.value, "deepspeed"))
    case = Case(facts, launch, tuple(documents), tuple(scripts), tuple(broken), _set_by_script(launch))
    stages = [settings.stage for settings in case.deepspeed() if settings.stage is not None]
    ranks = case.world or launch.ranks
    return replace(case, launch=replace(launch, zero_stage=stages[0] if stages else None, ranks=ranks))


def _set_by_script(launch: LaunchFacts) -> tuple[Visible, Place] | None:
    if not launch.script.endswith(".py"):
        return None
    try:
        return visible_of(Path(launch.script), launch)
    except Exception:  # our own mistake, which is said when the source is checked
        return None


def named_by_launch(launch: LaunchFacts) -> dict[str, str]:
    """Returns the configurations that a launch command names, and their kinds; one that does not exist is a finding."""
    found = {}
    if launch.launcher == "accelerate":
        for option, kind in (("config_file", "accelerate"), ("deepspeed_config_file", "deepspeed")):
            if option in launch.options:
                found[launch.options[option]] = kind
    options = launch.script_options()
    for option in ("deepspeed", "deepspeed_config"):
        if options.get(option, "").lower().endswith(CONFIGURATIONS):
            found[options[option]] = "deepspeed"
    return found


def _named_by_script(script: Script) -> Iterator[str]:
    """The DeepSpeed configurations that a script names, and that exist: beside it or in the current folder."""
    folder = os.path.dirname(script.file)
    for call in script.calls:
        for name in ("deepspeed", "config", "config_params", "hf_ds_config", "deepspeed_config"):
            argument = call.arguments.get(name)
            if argument is None or not isinstance(argument.value, str):
                continue
            if not argument.value.lower().endswith((".json", ".hjson")):
                continue
            for file in dict.fromkeys([argument.value, os.path.join(folder, argument.value)]):
                if os.path.isfile(file):
                    yield file
                    break
