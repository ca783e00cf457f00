"""Where a rank was: the program's line, and the call of torch.distributed that it was in, by its stack alone."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

from devsan import core
from devsan.diagnosis.source import shown_path
from devsan.introspect.frames.places import package_of, place_at
from devsan.introspect.frames.tensors import dtype_name, is_tensor
from devsan.job.ranks.source import rank_condition
from devsan.run_files.places import frame_of

# Public calls of torch/distributed/distributed_c10d.py, and the parameters that hold what is sent.
_CALLS = {
    "all_reduce": ("tensor",), "broadcast": ("tensor",), "reduce": ("tensor",), "barrier": (),
    "all_gather": ("tensor",), "all_gather_into_tensor": ("input_tensor",), "gather": ("tensor",),
    "scatter": ("tensor",), "reduce_scatter": ("output",), "reduce_scatter_tensor": ("input",),
    "all_to_all": ("input_tensor_list",), "all_to_all_single": ("input",), "send": ("tensor",), "recv": ("tensor",),
    "all_gather_object": (), "broadcast_object_list": (), "gather_object": (), "scatter_object_list": (),
    "monitored_barrier": (), "all_reduce_coalesced": ("tensors",),
}  # fmt: skip
_C10D = os.path.join("torch", "distributed", "distributed_c10d.py")
_DEEPEST = 256

Entry = tuple[CodeType, int, FrameType]


def stack_of(error: BaseException | None) -> list[Entry]:
    """Returns code, offset and frame of each call, innermost first: of the exception, or of the main thread now."""
    stack: list[Entry] = []
    trace = error.__traceback__ if error is not None else None
    if trace is not None:
        caller = trace.tb_frame.f_back
        while trace is not None:
            stack.insert(0, (trace.tb_frame.f_code, trace.tb_lasti, trace.tb_frame))
            trace = trace.tb_next
        frame = caller
    else:
        frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and len(stack) < _DEEPEST:
        stack.append((frame.f_code, frame.f_lasti, frame))
        frame = frame.f_back
    return [entry for entry in stack if package_of(entry[0].co_filename) != "devsan"]


def program_frame(stack: Sequence[Entry]) -> dict[str, Any] | None:
    """Returns the innermost frame of the program; of a library where the program has none."""
    if not core.is_here():
        return None
    outside = [entry for entry in stack if package_of(entry[0].co_filename) not in ("torch", "python", "numpy")]
    own = [entry for entry in outside if package_of(entry[0].co_filename) == ""]
    for code, offset, _ in (own or outside)[:1]:
        return frame_of(place_at(code, offset))
    return None


def condition_of(stack: Sequence[Entry]) -> dict[str, str]:
    """Returns the test about ranks under which the program, or what it called, is now, and the line that stands below
    it; both are "" without one."""
    for code, offset, _ in stack:
        if package_of(code.co_filename) == "":
            line = next((line for first, end, line in code.co_lines() if first <= offset < end), None)
            if line and (found := rank_condition(code.co_filename, line)):
                return {"condition": found, "condition_at": f"{shown_path(code.co_filename)}:{line}"}
    return {"condition": "", "condition_at": ""}


def in_collective(stack: Sequence[Entry]) -> bool:
    """Returns whether the innermost call is one of torch.distributed's."""
    return bool(stack) and f"{os.sep}torch{os.sep}distributed{os.sep}" in stack[0][0].co_filename


def collective_in(stack: Sequence[Entry]) -> dict[str, Any] | None:
    """Returns the collective that ``stack`` is in, as a flight recorder has it; None where it is in none.

    For groups without a flight recorder of DevSan's: gloo, and NCCL on real GPUs.
    """
    found = next(
        (entry for entry in stack if entry[0].co_name in _CALLS and entry[0].co_filename.endswith(_C10D)), None
    )
    if found is None:
        return None
    code, _, frame = found
    tensors = [tensor for name in _CALLS[code.co_name] for tensor in _tensors(frame.f_locals.get(name))]
    where = program_frame(stack)
    return {
        "group": _group_name(frame.f_locals.get("group")), "members": [],
        "sequence": 0, "name": code.co_name, "shapes": [[int(size) for size in each.shape] for each in tensors[:8]],
        "bytes": sum(each.numel() * each.element_size() for each in tensors), "since": 0.0, "finished": False,
        "dtype": dtype_name(str(tensors[0].dtype)) if tensors else "",
        "device": str(tensors[0].device) if tensors else "", "where": where,
        "condition": rank_condition(where["path"], where["line"]) if where is not None else "",
    }  # fmt: skip


def _group_name(group: Any) -> str:
    """The same in all ranks; "default" for the group of all."""
    c10d: Any = sys.modules.get("torch.distributed")
    if group is None or c10d is None or group is c10d.group.WORLD:
        return "default"
    return str(getattr(group, "group_name", "default"))


def backward_in(stack: Sequence[Entry]) -> dict[str, Any] | None:
    """Returns the backward pass that ``stack`` is in as a collective: DDP adds up gradients there, below Python."""
    if not any(code.co_name == "_engine_run_backward" for code, _, _ in stack[:2]):
        return None
    return {
        "group": "default", "members": [], "sequence": 0, "name": "the backward pass", "shapes": [], "bytes": 0,
        "dtype": "", "device": "", "since": 0.0, "finished": False, "where": program_frame(stack), "condition": "",
    }  # fmt: skip


def frame_in_text(stack: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Returns the innermost frame of the program in a stack that was written as text: file, line, function."""
    outside = [each for each in stack if package_of(str(each["file"])) not in ("torch", "python", "numpy", "devsan")]
    own = [each for each in outside if package_of(str(each["file"])) == ""]
    for each in (own or outside)[:1]:
        return {"path": str(each["file"]), "line": int(each["line"]), "function": str(each["function"]), "column": 0}
    return None


def call_in_text(stack: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the collective that such a stack is in, without its tensors; none where it is in none."""
    for each in stack:
        if each["function"] in _CALLS and str(each["file"]).endswith(_C10D):
            where = frame_in_text(stack)
            return [{
                "group": "default", "members": [], "sequence": 0, "name": str(each["function"]), "shapes": [],
                "bytes": 0, "dtype": "", "device": "", "since": 0.0, "finished": False, "where": where,
                "condition": rank_condition(where["path"], where["line"]) if where is not None else "",
            }]  # fmt: skip
    return []


def _tensors(value: Any) -> list[Any]:
    if is_tensor(value):
        return [value]
    return [each for each in value if is_tensor(each)] if isinstance(value, (list, tuple)) else []
