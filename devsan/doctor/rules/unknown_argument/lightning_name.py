"""DV421: strategies and accelerators of Lightning's Trainer that the installed release does not have.

Packages register others. So only a name that an earlier release had is told, the name of a strategy where that of an
accelerator belongs, and a slip.
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import Message, message
from devsan.doctor.case import Case
from devsan.doctor.findings import finding
from devsan.doctor.installed import Installed
from devsan.doctor.installed.module import read_module
from devsan.doctor.packages import version
from devsan.doctor.script import Argument, Call
from devsan.spelling import nearest

CODE = own_code(__name__)

_SUCCESSORS = {
    "ddp2": "ddp",
    "ddp_fully_sharded": "fsdp",
    "ddp_sharded": "fsdp",
    "ddp_sharded_find_unused_parameters_false": "fsdp",
    "ddp_sharded_spawn": "fsdp",
    "dp": "ddp",
    "fsdp_native": "fsdp",
    "fsdp_native_full_shard_offload": "fsdp_cpu_offload",
    "horovod": "ddp",
    "single_tpu": "single_xla",
    "tpu_spawn": "xla",
}
_OF_GPUS = ("ddp", "deepspeed", "dp", "fsdp", "horovod")  # what names of strategies for GPUs begin with
_BOTH = 'accelerator="gpu", strategy="{strategy}"'
_SHORTEST = 4  # letters of a name of which a slip is told: "npu" is no slip of "cpu"


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields names with which the Trainer stops."""
    installed = case.facts.installed
    if installed is None:
        return
    for script in case.scripts:
        if any("Registry" in name for name in script.imports.names):
            continue
        for call in script.library_calls:
            package, _, name = call.name.rpartition(".")
            if name != "Trainer" or not package.startswith(("lightning", "pytorch_lightning")):
                continue
            for argument in ("strategy", "accelerator"):
                given = call.arguments.get(argument)
                if given is not None and isinstance(given.value, str):
                    yield from _checked(installed, call, argument, given, given.value.lower())


def _checked(installed: Installed, call: Call, argument: str, given: Argument, value: str) -> Iterator[Diagnostic]:
    found = installed.find(*call.name.rsplit(".", 1))
    root = found.module.name.rpartition(".trainer.")[0] if found is not None else ""
    own, other = _texts(installed, root, "strategies"), _texts(installed, root, "accelerators")
    if not own or not other:
        return
    if argument == "accelerator":
        strategy = value if value in own else _SUCCESSORS.get(value, "")
        if value not in other and strategy in own and value.startswith(_OF_GPUS):
            yield _refused(call, given, _BOTH.format(strategy=strategy))
    elif value != "auto" and value not in own and value not in other:
        near = _SUCCESSORS.get(value) or (nearest(value, sorted(own), 1.0) if len(value) >= _SHORTEST else None)
        if near in own:
            yield _refused(call, given, f'strategy="{near}"')


def _texts(installed: Installed, root: str, part: str) -> frozenset[str]:
    """The texts in the modules of strategies or accelerators: every name that they register is among them."""
    package = installed.module(f"{root}.{part}") if root else None
    modules = [read_module(file.stem, file) for file in package.file.parent.glob("*.py")] if package else []
    return frozenset(
        name for module in modules if module is not None for name in module.texts if name.isidentifier()
    )  # fmt: skip


def _refused(call: Call, given: Argument, right: str) -> Diagnostic:
    library = call.name.partition(".")[0]
    title: Message = message("{called} of {library} {version} does not take {argument}", argument=given.shown,
                             called="Trainer", library=library, version=version(library))  # fmt: skip
    return finding(CODE, title, given.place, (message("The Trainer stops with a ValueError."),),
                   message("write {correction}", correction=right), severity="error", confidence="certain")  # fmt: skip
