"""DV407: the number of ranks does not fit the GPUs that they will see."""

from __future__ import annotations

import os
from collections.abc import Iterator

from devsan.cuda.visible_devices import visible_devices
from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Place
from devsan.diagnostics.messages import Message, message, plural
from devsan.doctor.case import Case
from devsan.doctor.findings import finding
from devsan.doctor.settings import whole
from devsan.doctor.source.visible import Visible

CODE = own_code(__name__)


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields more ranks than GPUs, and ranks that several places count differently."""
    gpus, text, place = _seen(case)
    per_node = _per_node(case)
    machine = len(case.facts.driver.gpus) if case.facts.driver.state == "ok" else 0
    visible = plural("{n} of its GPUs is visible", "{n} of its GPUs are visible", gpus)
    title = plural("{n} rank on this machine, but {visible}", "{n} ranks on this machine, but {visible}", per_node,
                   visible=visible)  # fmt: skip
    if gpus and per_node > gpus:
        evidence = [message("Rank r uses GPU r: the ranks without a GPU fail with CUDA error: invalid device ordinal.")]
        if text is not None and machine:
            evidence.append(message("CUDA_VISIBLE_DEVICES={value}; the machine has {n}.", value=text, n=machine))
        elif text is not None:
            evidence.append(message("CUDA_VISIBLE_DEVICES={value} lists no other GPUs.", value=text))
        yield finding(
            CODE, title, place, tuple(evidence), _fewer(case, gpus), severity="error", confidence="certain",
            subject="" if place else _subject(case), others=_more(text, machine, per_node),
        )  # fmt: skip
    elif machine and 0 < per_node < gpus and case.launch.launcher not in ("", "python") and text is None:
        yield finding(
            CODE, title, None,
            (message("The others stay idle, unless each rank uses several."),),
            plural("start {n} rank", "start {n} ranks", gpus), severity="note", confidence="possible",
            subject=_subject(case),
        )  # fmt: skip
    yield from _config_file(case)
    yield from _stale(case)
    yield from _by_global_rank(case)


def _seen(case: Case) -> tuple[int, str | None, Place | None]:
    """How many GPUs each rank sees, by which CUDA_VISIBLE_DEVICES, set where; 0 GPUs where that is not known.

    Of a machine whose GPUs are not known, the variable says how many there are at most.
    """
    known = case.facts.driver.state == "ok" and bool(case.facts.driver.gpus)
    if case.visible is not None:
        visible, place = case.visible
    else:
        visible, place = Visible(case.launch.visible, True), None
    machine = len(case.facts.driver.gpus)
    if visible.text is None:
        return (machine if known and visible.shared else 0), None, place
    if not known:
        gpus = visible.count or 0
    elif visible.text == case.facts.visible_text:
        gpus = len(case.facts.visible)
    else:
        gpus = len(visible_devices(visible.text, [gpu.uuid for gpu in case.facts.driver.gpus]))
    # Where a slip hides GPUs, that is another finding.
    return (gpus if len(visible.text.split(",")) <= gpus else 0), visible.text, place


def _per_node(case: Case) -> int:
    if case.launch.per_node > 0:
        return case.launch.per_node
    if case.launch.per_node < 0 and case.visible is not None:
        return case.launch.ranks // max(1, case.launch.nodes)  # the launcher has not seen what the script sets
    if (case.launch.launcher in ("accelerate", "") and not case.launch.ranks) or case.launch.launcher == "accelerate":
        for document in case.of_kind("accelerate"):
            count, machines = document.at("num_processes"), document.at("num_machines")
            many = whole(count.node.value) if count is not None else None
            nodes = whole(machines.node.value) if machines is not None else 1
            kind = document.at("distributed_type")
            on_cpu = document.at("use_cpu")
            if (
                many
                and kind is not None
                and str(kind.node.value).upper() in ("MULTI_GPU", "DEEPSPEED", "FSDP")
                and not (on_cpu is not None and on_cpu.node.value is True)
            ):
                return max(0, many // max(1, nodes or 1))
    return 0


def _fewer(case: Case, gpus: int) -> Message:
    option = {"torchrun": f"--nproc_per_node={gpus}", "deepspeed": f"--num_gpus={gpus}",
              "accelerate": f"--num_processes={gpus * case.launch.nodes}"}.get(case.launch.launcher)  # fmt: skip
    if option is None:
        return message("start only {n}", n=gpus)
    return message("start only {n}: {option}", n=gpus, option=option)


def _more(text: str | None, machine: int, per_node: int) -> tuple[Message, ...]:
    if text is not None and machine >= per_node:
        value = ",".join(map(str, range(per_node)))
        return (message("make more GPUs visible: CUDA_VISIBLE_DEVICES={value}", value=value),)
    return ()


def _subject(case: Case) -> str:
    return case.launch.shown() or "num_processes"


def _config_file(case: Case) -> Iterator[Diagnostic]:
    """accelerate launch --num_processes wins over the file: two numbers that are both meant."""
    said = whole(case.launch.options.get("num_processes")) if case.launch.launcher == "accelerate" else None
    for document in case.of_kind("accelerate"):
        member = document.at("num_processes")
        many = whole(member.node.value) if member is not None else None
        if member is not None and said and many and said != many:
            yield finding(
                CODE,
                message("--num_processes {given} on the command line, num_processes {processes} in the file",
                        given=said, processes=many),
                member.node.place,
                (message("accelerate launch uses the value from the command line."),), message("keep one of the two"),
                severity="note", confidence="likely",
            )  # fmt: skip


def _stale(case: Case) -> Iterator[Diagnostic]:
    """RANK and WORLD_SIZE that an earlier job, or a shell inside of one, left in the environment."""
    variables = case.facts.variables
    left = [name for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE") if name in variables]
    scheduled = any(name.startswith(("SLURM_", "OMPI_", "PET_", "TORCHELASTIC")) for name in variables)
    if case.launch.launcher not in ("python",) or not left or scheduled or case.launch.environment.get("RANK"):
        return
    world = variables.get("WORLD_SIZE", "")
    if world in ("", "1") and "RANK" not in left:
        return
    if world == "1":
        return
    yield finding(
        CODE, message("{variables} are set, but one process is started without a launcher", variables=", ".join(left)),
        None,
        (message("The Trainer, accelerate and DeepSpeed then wait for other ranks that are never started."),),
        message("unset {variables}, or launch with torchrun", variables=" ".join(left)), severity="error",
        confidence="likely", subject=" ".join(f"{name}={variables[name]}" for name in left),
    )  # fmt: skip


def _by_global_rank(case: Case) -> Iterator[Diagnostic]:
    """Each machine numbers its GPUs from 0 on; the ranks of the job go on from machine to machine."""
    launch = case.launch
    for script in case.scripts if launch.nodes > 1 else ():
        if script.global_rank is None or os.path.realpath(script.file) != os.path.realpath(launch.script):
            continue
        evidence = [message("The launch is on {n} machines, and each numbers its GPUs from 0 on.", n=launch.nodes)]
        if launch.per_node > 0:
            evidence.append(message("The ranks of the second one begin with {n}.", n=launch.per_node))
        yield finding(
            CODE, message("the GPU is chosen by the rank in the whole job"), script.global_rank, tuple(evidence),
            message("choose it by the rank on the machine: {code}", code='int(os.environ["LOCAL_RANK"])'),
            severity="error", confidence="likely",
        )  # fmt: skip
