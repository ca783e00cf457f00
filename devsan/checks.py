"""Checks by hand at key points: ``devsan.check``, ``devsan.expect``, ``devsan.where``, ``devsan.findings``."""

from __future__ import annotations

import functools
import io
import sys
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any, TypeVar

from devsan import core
from devsan.introspect.frames.chain import Failure, failure_of
from devsan.introspect.frames.error_match import Sentence
from devsan.introspect.frames.error_patterns import Kind
from devsan.introspect.frames.places import DEVSAN, package_of
from devsan.post_mortem import COLOR

Function = TypeVar("Function", bound=Callable[..., Any])

_DEEP = 6  # containers within containers that are looked into


class DeviceMismatch(RuntimeError):
    """Tensors that were said to be on one device are not. The text is the report."""


def check(*tensors: Any, **named: Any) -> None:
    """Raises unless all tensors are on one device.

    Containers (lists, tuples, dictionaries) and modules (parameters, buffers) are looked into. A 0-dim tensor of the
    host may be beside tensors of a GPU, as in torch. Nothing else happens, and nothing is moved:
    ``devsan.check(hidden, mask, weight=self.weight)``.

    Args:
        *tensors: tensors, or what holds them; anything else is left alone.
        **named: the same, under names that the report uses.

    Raises:
        DeviceMismatch: naming every tensor, where it is and who placed it there.
    """
    found = list(_tensors([*tensors, *named.values()], _DEEP))
    gpus = {str(tensor.device) for tensor in found if tensor.device.type != "cpu"}
    devices = {str(tensor.device) for tensor in found if not (gpus and _is_host_scalar(tensor))}
    if len(devices) < 2:
        return
    caller = sys._getframe(1)
    common = str(found[0].device)
    offending = next(
        str(tensor.device) for tensor in found if str(tensor.device) != common and str(tensor.device) in devices
    )
    text = f"expected all tensors that are checked here on one device, got {', '.join(sorted(devices))}"
    raise DeviceMismatch(_report(Sentence(Kind.MIXED, text, (common, offending), speaker="devsan"), caller)) from None


check_tensors_device = check


class expect:  # reads like a function: with devsan.expect("cuda:1")
    """Raises where a tensor is made, moved or returned on another device. A context manager and a decorator.

    ``with devsan.expect("cuda:1"):`` watches torch's functions that are called inside, in this thread; 0-dim tensors of
    the host are left alone. On a function it watches each call and its result.

    Args:
        device: as torch spells it; "cuda" stands for any GPU.

    Raises:
        DeviceMismatch: on leaving the torch function whose result is elsewhere.
        ValueError: ``device`` is not a device.
    """

    def __init__(self, device: Any) -> None:
        self.device = str(device) if not isinstance(device, int) else f"cuda:{device}"
        torch: Any = sys.modules.get("torch")
        try:
            if torch is not None:
                torch.device(self.device)
        except RuntimeError:
            raise ValueError(f"expected a device as torch spells it, got {device!r}") from None
        self._modes: list[Any] = []

    def __enter__(self) -> expect:
        mode = _mode(self.device)
        mode.__enter__()
        self._modes.append(mode)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._modes.pop().__exit__(kind, error, trace)

    def __call__(self, function: Function) -> Function:
        """Returns ``function``, watched."""

        @functools.wraps(function)
        def watched(*arguments: Any, **keywords: Any) -> Any:
            with self:
                result = function(*arguments, **keywords)
            _judge(result, self.device, f"{function.__qualname__} returned", sys._getframe(1))
            return result

        return watched  # type: ignore[return-value]


def where(tensor: Any) -> None:
    """Prints on stderr how ``tensor`` came to be where it is, newest first."""
    from devsan.introspect.provenance.shown import provenance_text

    print(provenance_text(tensor, sys._getframe(1)), file=sys.stderr, flush=True)


def findings() -> list[core.Finding]:
    """Returns what was found wrong in this process so far, all sites of one cause as one finding.

    An error that the program catches is among them from a call in its ``except`` clause on, or from that of
    ``devsan.explain``: of one that is caught and dropped nothing is left to look at.
    """
    from devsan.introspect.explain import findings_so_far

    error = sys.exc_info()[1]
    return findings_so_far(failure_of(error, error.__traceback__) if error is not None else None)


def _mode(device: str) -> Any:
    from torch.overrides import TorchFunctionMode

    class Watch(TorchFunctionMode):  # type: ignore[misc,unused-ignore]
        def __torch_function__(
            self, function: Any, types: Any, arguments: Any = (), keywords: dict[str, Any] | None = None
        ) -> Any:
            result = function(*arguments, **(keywords or {}))
            _judge(result, device, f"{getattr(function, '__name__', function)} created", _program_frame())
            return result

    return Watch()


def _judge(result: Any, device: str, did: str, caller: FrameType) -> None:
    for tensor in _tensors([result], 2):
        here = str(tensor.device)
        if here == device or here.startswith(device + ":") or _is_host_scalar(tensor):
            continue
        text = f"expected tensors on {device} here, but {did} a tensor on {here}"
        figures = {"expected": device, "here": here}
        sentence = Sentence(Kind.EXPECTED, text, (device, here), figures=figures, speaker="devsan")
        raise DeviceMismatch(_report(sentence, caller))


def _program_frame() -> FrameType:
    """The innermost frame that is neither torch's nor DevSan's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and package_of(frame.f_code.co_filename) in ("torch", DEVSAN):
        frame = frame.f_back
    return frame


def _tensors(values: Any, deep: int) -> Iterator[Any]:
    torch: Any = sys.modules.get("torch")
    if torch is None or deep == 0:
        return
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, torch.nn.Module):
            yield from value.parameters()
            yield from value.buffers()
        elif isinstance(value, (list, tuple, set, frozenset)):
            yield from _tensors(value, deep - 1)
        elif isinstance(value, dict):
            yield from _tensors(value.values(), deep - 1)


def _is_host_scalar(tensor: Any) -> bool:
    return bool(tensor.device.type == "cpu" and tensor.dim() == 0)


def _report(sentence: Sentence, caller: FrameType) -> str:
    """The sentence, then the report on the call that ``caller`` is executing."""
    try:
        from devsan.failure_report import report_to

        trace = TracebackType(None, caller, caller.f_lasti, caller.f_lineno)
        stream = io.StringIO()
        report_to(stream, Failure(sentence.text, sentence, trace, trace), is_shown=True)
        return f"{sentence.text}\n{COLOR.sub('', stream.getvalue()).rstrip()}"
    except Exception as own:  # the check's own answer must not be lost
        return f"{sentence.text}\n(no report: {type(own).__name__}: {own})"
