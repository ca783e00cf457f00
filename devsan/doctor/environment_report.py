"""The block of facts, for a terminal and for pasting: a name, then what is there.

system   Linux 6.1.0 x86_64, glibc 2.36, 64 processors, 503 GiB
driver   550.54.15 (CUDA 12.4)
cuda:0   GPU 2  NVIDIA A100-SXM4-80GB  80 GiB  8.0  GPU-5d1f  07:00.0
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.doctor.driver import Gpu
from devsan.doctor.facts import Facts
from devsan.doctor.launch import LaunchFacts
from devsan.render.language import Language
from devsan.render.terminal.text import Line, display_width, paragraph

Row = tuple[str, str]

_STATES = {"hanging": "does not respond", "failing": "fails", "broken": "cannot be imported", "absent": "none"}


def rows_of(facts: Facts, launch: LaunchFacts, say: Language) -> Iterator[Row]:
    """Yields a name and a text for each fact; the name is empty where a fact takes several lines."""
    system = facts.system
    memory = f", {system.memory / 1024:.0f} GiB" if system.memory else ""
    yield say("system"), f"{system.name}, {system.libc}, " + say("{n} processors", n=str(system.processors)) + memory
    yield "Python", f"{system.python}  {system.executable}"
    yield say("driver"), _driver(facts, say)
    yield from _gpus(facts, say)
    yield "torch", _torch(facts, say)
    others = [f"{name} {version}" for name, version in facts.packages.items() if name != "torch"]
    for number in range(0, len(others), 5):
        yield (say("packages") if number == 0 else ""), ", ".join(others[number : number + 5])
    for number, (name, value) in enumerate(facts.variables.items()):
        yield (say("variables") if number == 0 else ""), f"{name}={value}"
    for number, line in enumerate(facts.driver.topology):
        yield (say("topology") if number == 0 else ""), line
    if launch.command:
        counted = say("1 rank") if launch.ranks == 1 else say("{n} ranks", n=str(launch.ranks))
        ranks = counted if launch.ranks else say("ranks not known")
        yield say("launch"), f"{' '.join(launch.command)}  ({launch.launcher or '-'}, {ranks})"


def block(facts: Facts, launch: LaunchFacts, say: Language, columns: int) -> Iterator[Line]:
    """Yields the block's lines, in ``columns``."""
    rows = list(rows_of(facts, launch, say))
    width = max(display_width(name) for name, _ in rows)
    for name, text in rows:
        head = name + " " * (width - display_width(name) + 2)
        yield from paragraph(head, "frame", text, columns, width + 2)


def _driver(facts: Facts, say: Language) -> str:
    driver = facts.driver
    if driver.state != "ok":
        said = say(_STATES[driver.state])
        return f"{said}: {driver.sentence}" if driver.sentence else said
    return f"NVIDIA {driver.version}" + (f" (CUDA {driver.cuda})" if driver.cuda else "")


def _gpus(facts: Facts, say: Language) -> Iterator[Row]:
    """Visible ones by the number that a program uses, then the others."""
    for logical, number in enumerate(facts.visible):
        gpu = next((each for each in facts.driver.gpus if each.index == number), None)
        if gpu is not None:
            yield f"cuda:{logical}", _gpu(gpu)
    for gpu in facts.driver.gpus:
        if gpu.index not in facts.visible:
            yield say("hidden"), _gpu(gpu)


def _gpu(gpu: Gpu) -> str:
    size = f"{gpu.memory / 1024:.0f} GiB" if gpu.memory else "?"
    used = f" ({gpu.used} MiB used)" if gpu.used > 512 else ""
    return f"GPU {gpu.index}  {gpu.name}  {size}{used}  {gpu.capability}  {gpu.uuid}  {gpu.bus}"


def _torch(facts: Facts, say: Language) -> str:
    torch = facts.torch
    if torch.state == "absent":
        return say("none")
    build = f"CUDA {torch.cuda}" if torch.cuda else f"ROCm {torch.hip}" if torch.hip else say("without CUDA")
    parts = [f"{torch.version} ({build})"]
    if torch.state in _STATES:
        parts.append(f"{say(_STATES[torch.state])}: {say.text(torch.sentence)}")
    parts += [f"NCCL {torch.nccl}"] if torch.nccl else []
    parts += [f"cuDNN {torch.cudnn}"] if torch.cudnn else []
    parts += [" ".join(torch.archs)] if torch.archs else []
    return ", ".join(parts)
