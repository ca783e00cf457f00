"""torch, asked in a child: a torch that cannot be imported, or never ends importing, is a finding and not our end."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import sys
from dataclasses import dataclass
from typing import Literal

from devsan.diagnostics.messages import message
from devsan.doctor.ask import Answer, ask

_QUESTION = """
import json, os, sys, warnings
out = os.dup(1); os.dup2(2, 1)
warned = []
warnings.showwarning = lambda text, *rest: warned.append(" ".join(str(text).split()))
import torch
said = {"version": str(torch.__version__), "cuda": torch.version.cuda or ""}
said["hip"] = getattr(torch.version, "hip", None) or ""
said["available"] = bool(torch.cuda.is_available())
said["devices"] = int(torch.cuda.device_count())
flags = getattr(torch._C, "_cuda_getArchFlags", None)
said["archs"] = (flags() or "").split() if flags else []
if said["cuda"] and not said["available"]:
    try:
        torch._C._cuda_init()
    except Exception as error:
        said["refusal"] = " ".join(str(error).split())
if said["cuda"] or said["hip"]:
    try:
        said["cudnn"] = str(torch.backends.cudnn.version() or "")
        said["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
    except Exception:
        pass
said["warnings"] = warned[:3]
os.write(out, json.dumps(said).encode())
"""

_VERSION = re.compile(r"^(?P<name>__version__|cuda|hip)\b[^=\n]*=\s*(?P<value>None|'[^']*'|\"[^\"]*\")", re.MULTILINE)


@dataclass(frozen=True)
class Torch:
    """The installed torch.

    Attributes:
        state: "unasked": only its files were read; "broken": it cannot be imported; "hanging": it did not end.
        version: "2.13.0+cu126".
        cuda: the toolkit that it was built with, "12.6"; "" for a build without.
        hip: of a build for AMD, else "".
        sentence: why it is broken, or why CUDA cannot be used.
        archs: what its kernels are built for: "sm_80", "compute_90".
        available: what ``torch.cuda.is_available()`` says.
        devices: what ``torch.cuda.device_count()`` says; -1 where it was not asked.
        cudnn: its version.
        nccl: its version.
        shadow: a file of the program that is imported in its stead.
    """

    state: Literal["absent", "unasked", "ok", "broken", "hanging"] = "absent"
    version: str = ""
    cuda: str = ""
    hip: str = ""
    sentence: str = ""
    archs: tuple[str, ...] = ()
    available: bool = False
    devices: int = -1
    cudnn: str = ""
    nccl: str = ""
    shadow: str = ""


def read_torch() -> Torch:
    """Reads the version out of torch's files, without importing it."""
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, ValueError, AttributeError):
        spec = None
    if spec is None or not spec.origin:
        return Torch()
    try:
        with open(os.path.join(os.path.dirname(spec.origin), "version.py"), encoding="utf-8") as stream:
            said = {match["name"]: match["value"] for match in _VERSION.finditer(stream.read())}
    except (OSError, UnicodeDecodeError):
        return Torch("unasked")
    known = {name: "" if value == "None" else value[1:-1] for name, value in said.items()}
    return Torch("unasked", known.get("__version__", ""), known.get("cuda", ""), known.get("hip", ""))


def ask_torch(seconds: float) -> Torch:
    """Imports torch in a child and asks it, for at most ``seconds``."""
    read = read_torch()
    if read.state == "absent":
        return read
    # Neither DevSan's emulation nor another backend has a say in what is there.
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("DEVSAN_OPTIONS", None)
    answer = ask(
        [sys.executable, *(["-P"] if sys.version_info >= (3, 11) else []), "-c", _QUESTION], seconds, environment
    )
    if answer.state == "hanging":
        return Torch(
            "hanging",
            read.version,
            read.cuda,
            read.hip,
            message("import torch did not finish within {seconds} s", seconds=f"{seconds:g}"),
        )
    try:
        said = json.loads(answer.out)
    except ValueError:
        return Torch("broken", read.version, read.cuda, read.hip, _why(answer))
    return Torch(
        "ok", said["version"], said["cuda"], said["hip"], said.get("refusal") or next(iter(said["warnings"]), ""),
        tuple(said["archs"]), said["available"], said["devices"], said.get("cudnn", ""), said.get("nccl", ""),
    )  # fmt: skip


def _why(answer: Answer) -> str:
    if answer.code < 0:
        try:
            return message("import torch is killed by {signal}", signal=signal.Signals(-answer.code).name)
        except ValueError:
            return message("import torch is killed by signal {n}", n=-answer.code)
    return answer.sentence() or message("import torch exits with code {n}", n=answer.code)
