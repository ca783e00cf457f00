"""DV408: variables of NCCL, torch.distributed and the libraries that contradict the machine or one another."""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import Message, message, plural
from devsan.doctor.case import Case
from devsan.doctor.findings import finding

CODE = own_code(__name__)

_INTERFACES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
_SLOW = {"NCCL_P2P_DISABLE": message("The GPUs then communicate through the host, which is several times slower."),
         "NCCL_IB_DISABLE": message("The machines then communicate over TCP, which is several times slower."),
         "CUDA_LAUNCH_BLOCKING": message("Each kernel then waits for the one before it: use this for debugging only."),
         "NCCL_SHM_DISABLE": message("The ranks of one machine then communicate over the network.")}  # fmt: skip
_RENAMED = {name: f"TORCH_{name}" for name in ("NCCL_BLOCKING_WAIT", "NCCL_ASYNC_ERROR_HANDLING", "NCCL_DESYNC_DEBUG")}


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields interfaces that do not exist, half a rendezvous, and switches that were left on."""
    variables = case.facts.variables
    for name in _INTERFACES:
        if name in variables and case.facts.interfaces:
            yield from _interface(name, variables[name], case.facts.interfaces)
    yield from _rendezvous(case)
    yield from _allocator(variables.get("PYTORCH_CUDA_ALLOC_CONF") or variables.get("PYTORCH_ALLOC_CONF"))
    for name, effect in _SLOW.items():
        if variables.get(name, "0") not in ("", "0"):
            yield finding(
                CODE, message("{variable} is enabled", variable=name), None,
                (effect,), message("unset {variable}, unless this machine needs it", variable=name), severity="note",
                confidence="possible", subject=f"{name}={variables[name]}",
            )  # fmt: skip
    for name, new in _RENAMED.items():
        if name in variables and new not in variables:
            yield finding(
                CODE, message("{variable} was renamed to {replacement} in torch 2.2", variable=name, replacement=new),
                None,
                (message("torch still reads the old name and warns; a later release will not."),),
                message("export {variable}={value}", variable=new, value=variables[name]), severity="note",
                confidence="certain", subject=f"{name}={variables[name]}",
            )  # fmt: skip


def _interface(name: str, text: str, interfaces: tuple[str, ...]) -> Iterator[Diagnostic]:
    """NCCL takes beginnings of names, "=" for whole names, "^" for all others (its documentation); gloo whole names."""
    exact = name.startswith("GLOO") or text.startswith(("=", "^="))
    names = [each for each in text.lstrip("^").lstrip("=").split(",") if each]
    found = [each for each in interfaces
             if any(each == wanted if exact else each.startswith(wanted) for wanted in names)]  # fmt: skip
    if text.startswith("^"):
        left = [each for each in interfaces if each not in found]
        if not left:
            title = message("{variable} excludes every network interface of this machine", variable=name)
            yield _no_interface(name, text, interfaces, title)
    elif names and not found:
        title = message("{variable} matches no network interface of this machine", variable=name)
        yield _no_interface(name, text, interfaces, title)


def _no_interface(name: str, text: str, interfaces: tuple[str, ...], title: Message) -> Diagnostic:
    own = [each for each in interfaces if each != "lo" and not each.startswith(("docker", "veth", "br-"))] or ["lo"]
    return finding(
        CODE, title, None,
        (message("It has {interfaces}. The ranks fail or hang in their first collective.",
                 interfaces=", ".join(interfaces[:8])),),
        message("export {variable}={value}", variable=name, value=own[0]), severity="error", confidence="certain",
        subject=f"{name}={text}",
        others=(message("unset {variable}: the interface is then detected automatically", variable=name),),
    )  # fmt: skip


def _rendezvous(case: Case) -> Iterator[Diagnostic]:
    variables = case.facts.variables
    by_hand = case.launch.launcher in ("python", "") and variables.get("WORLD_SIZE", "1") not in ("", "1")
    needed = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    missing = [name for name in needed if name not in variables]
    if by_hand and missing and "RANK" in variables and not any(name.startswith("SLURM_") for name in variables):
        yield finding(
            CODE,
            message("the ranks are started manually, but {variables} is not set", variables=", ".join(missing)), None,
            (message("init_process_group reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT from the environment."),),
            message("set {variables} in each rank, or launch with torchrun", variables=", ".join(missing)),
            severity="error", confidence="likely",
            subject=" ".join(f"{name}={variables[name]}" for name in needed if name in variables),
        )  # fmt: skip
    port = variables.get("MASTER_PORT")
    if port is not None and not (port.strip().isdecimal() and 0 < int(port) < 65536):
        yield finding(
            CODE, message("MASTER_PORT is not a port number"), None,
            (message("Expected a number from 1 to 65535."),),
            message("export {variable}={value}", variable="MASTER_PORT", value=29500), severity="error",
            confidence="certain", subject=f"MASTER_PORT={port}",
        )  # fmt: skip
    address = variables.get("MASTER_ADDR", "")
    if case.launch.nodes > 1 and address in ("localhost", "127.0.0.1"):
        yield finding(
            CODE,
            plural("MASTER_ADDR is the local machine, but the job has {n} machine",
                   "MASTER_ADDR is the local machine, but the job has {n} machines", case.launch.nodes),
            None,
            (message("Each machine then waits for the others at its own address."),),
            message("export MASTER_ADDR=<address of the first machine>"), severity="error", confidence="certain",
            subject=f"MASTER_ADDR={address}",
        )  # fmt: skip


def _allocator(text: str | None) -> Iterator[Diagnostic]:
    """As c10/core/CachingAllocator's configuration reads it: key:value, with commas; other text is an error."""
    if not text:
        return
    if "=" in text or (
        any(":" not in part for part in text.split(",") if part and not part.startswith("[")) and "[" not in text
    ):
        yield finding(
            CODE, message("PYTORCH_CUDA_ALLOC_CONF does not have the form key:value"), None,
            (message("torch fails when it first uses a GPU: it expects entries such as expandable_segments:True."),),
            message("export {variable}={value}", variable="PYTORCH_CUDA_ALLOC_CONF", value=text.replace("=", ":")),
            severity="error", confidence="certain", subject=f"PYTORCH_CUDA_ALLOC_CONF={text}",
        )  # fmt: skip
