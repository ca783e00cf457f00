"""An access of a stream to memory, and how the program calls what took part in it."""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any

from devsan import _core, core
from devsan.diagnostics.messages import Message, message
from devsan.introspect.frames.places import DEVSAN, place_at
from devsan.introspect.frames.tensors import is_tensor
from devsan.introspect.frames.values import own_dict
from devsan.introspect.source.sources import tree_at

Frames = Sequence[tuple[CodeType, int]]
Access = tuple[str, bool, int, int, int, Frames]  # operator, whether it writes, device, stream, bytes, frames


def frame_of(frames: Frames) -> core.Frame | None:
    """The innermost frame of the program; without one, the innermost that is not DevSan's."""
    found = [place_at(code, offset) for code, offset in frames]
    outside = [each for each in found if each.package != DEVSAN]
    return next((each for each in outside if not each.package), outside[0] if outside else None)


def lane_of(access: Access) -> Message:
    """Returns whose order the access is in: a stream's, NCCL's or the host's."""
    device, stream = access[2], access[3]
    if device < 0:
        return message("the host")
    if stream < 0:
        return message("NCCL's stream on cuda:{index}", index=device)
    if stream == 0:
        return message("the default stream of cuda:{index}", index=device)
    name = stream_name(access) or entered_block(access)[1]
    if name is None:
        return message("another stream of cuda:{index}", index=device)
    return message("stream `{stream}` of cuda:{index}", stream=name, index=device)


def current_stream(access: Access) -> str:
    """The stream of an access by torch's function, for a line beside the access."""
    return f"torch.cuda.current_stream({_argument(access[2])})"


def stream_name(access: Access) -> str | None:
    """The stream as the program calls it; None where no running frame has a name for it."""
    device, number = access[2], access[3]
    if number == 0:
        return f"torch.cuda.default_stream({_argument(device)})"
    return next(filter(None, (_name_in(frame, device, number) for frame in _running())), None)


def entered_block(access: Access) -> tuple[ast.With | None, str | None]:
    """``with torch.cuda.stream(...)`` around the access, and the stream as it says it, which is valid there."""
    here = frame_of(access[-1])
    tree = tree_at(str(here.file)) if here is not None and here.file else None
    found: tuple[ast.With | None, str | None] = (None, None)
    if here is None or tree is None:
        return found
    for node in ast.walk(tree):  # outer statements come first
        if isinstance(node, ast.With) and node.lineno <= here.span.line <= (node.end_lineno or node.lineno):
            name = next(filter(None, (_entered(item.context_expr) for item in node.items)), None)
            found = (node, name) if name else found
    return found


def gpu_tensors(names: Iterable[str], where: core.Frame) -> list[str]:
    """Returns those of ``names`` that are tensors of a GPU in the running frame of the function of ``where``."""
    for frame in _running():
        if frame.f_code.co_filename == where.file and frame.f_code.co_name == where.function.rpartition(".")[2]:
            return [name for name in names if _is_on_gpu(frame.f_locals.get(name))]
    return []


def _running() -> Iterator[FrameType]:
    """The frames of this thread, the innermost first, then the main thread's: a backward pass has none of its own, and
    what it runs for is there."""
    for frame in (sys._getframe(1), sys._current_frames().get(threading.main_thread().ident or 0)):
        while frame is not None:
            yield frame
            frame = frame.f_back


def _is_on_gpu(value: object) -> bool:
    return is_tensor(value) and bool(value.is_cuda)  # type: ignore[attr-defined]


def _entered(context: ast.expr) -> str | None:
    match context:
        case ast.Call(func=ast.Attribute(attr="stream"), args=[ast.Name() | ast.Attribute() as stream]):
            return ast.unparse(stream)
    return None


def _name_in(frame: FrameType, device: int, number: int) -> str | None:
    """The name of the stream in ``frame``."""
    if place_at(frame.f_code, frame.f_lasti).package == DEVSAN:
        return None
    for values in (frame.f_locals, frame.f_globals):
        for name, value in list(values.items()):
            if _is(value, device, number):
                return name
    for name, value in [*frame.f_locals.items(), *frame.f_globals.items()]:
        for attribute, held in list(own_dict(value).items()):  # self.stream, prefetcher.stream
            if _is(held, device, number):
                return f"{name}.{attribute}"
    return None


def _argument(device: int) -> str:
    return "" if device == _core.current_device() else str(device)


def _is(value: Any, device: int, number: int) -> bool:
    torch: Any = sys.modules["torch"]
    return isinstance(value, torch.Stream) and value.stream_id == number and value.device_index == device
