"""The sentence that refuses a device, in the text of an exception.

A pattern is found anywhere in the text of an exception, because libraries put words in front of torch's
("Caught RuntimeError in replica 0 on device 0. Original Traceback ...").
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from devsan.introspect.frames.error_patterns import ERROR_PATTERNS, Kind


@dataclass(frozen=True)
class Sentence:
    """One refusal, as its words tell it.

    Attributes:
        kind: what it is about.
        text: the sentence itself, letter for letter, on one line.
        devices: the devices it names ("cuda:1", "cuda", "cpu"); for a mismatch first the common one, then the offending
            one.
        argument: the argument that it says is in the wrong place, as torch's schema names it.
        op: the operator it names ("aten::mm").
        figures: what else it tells, by name.
        speaker: who says it, where that is known beforehand: "devsan" for a check by hand.
    """

    kind: Kind
    text: str
    devices: tuple[str, ...] = ()
    argument: str | None = None
    op: str | None = None
    figures: dict[str, str] = field(default_factory=dict)
    speaker: str = ""


_ANY_DEVICE = re.compile(r"\b(?:cuda|xpu|hpu|npu|mps|xla|cpu|meta|privateuseone)(?::\d+)?\b")


def recognize(message: str) -> Sentence | None:
    """Returns the refusal that ``message`` holds, or None when it is not about devices."""
    for pattern in ERROR_PATTERNS:
        match = pattern.search(message)
        if match is not None:
            sentence = _read(pattern.kind, match)
            if sentence is not None:
                return sentence
    return None


def _read(kind: Kind, match: re.Match[str]) -> Sentence | None:
    figures = {name: value for name, value in match.groupdict().items() if value is not None}
    common, offending = figures.pop("common", None), figures.pop("offending", None)
    argument, op = figures.pop("argument", None), figures.pop("op", None)
    if "first_type" in figures:
        common, offending, argument = _convolution(figures)
        if common == offending:
            return None  # the same words for a mismatch of dtypes alone
    text = _line_around(match)
    devices = tuple(_device(name) for name in (common, offending) if name is not None)
    if not devices and kind is Kind.MIXED:
        devices = tuple(dict.fromkeys(_ANY_DEVICE.findall(text)))
    if kind is Kind.META and not devices:
        devices = ("meta",)
    if "gpu" in figures:
        devices = (f"cuda:{figures['gpu']}",)
    return Sentence(kind, text, devices, argument, _op_name(op), figures)


def _convolution(figures: dict[str, str]) -> tuple[str, str, str]:
    """Returns common device, offending device and offending argument of "Input type (...) and weight type (...)"."""
    sides = {"input": figures["first_type"], figures["second"]: figures["second_type"]}
    places = {side: "cuda" if ".cuda." in name else "cpu" for side, name in sides.items()}
    offending = "input" if places["input"] == "cpu" else figures["second"]  # what was left on the host
    other = next(side for side in places if side != offending)
    return places[other], places[offending], offending


def _line_around(match: re.Match[str]) -> str:
    """Returns the line that holds the match, without the name of an exception that a wrapper printed before it."""
    start = match.string.rfind("\n", 0, match.start()) + 1
    end = match.string.find("\n", match.end())
    line = match.string[start : end if end >= 0 else None].strip()
    return re.sub(r"^(?:[\w.]+(?:Error|Exception|Warning): |Explanation: )+", "", line)


def _device(name: str) -> str:
    return f"cuda:{name}" if name.isdigit() else name.lower()


def _op_name(method: str | None) -> str | None:
    """Returns the operator behind the C++ function that a sentence names: wrapper_CUDA_mm, aten.add.Tensor."""
    if method is None:
        return None
    if method.startswith("aten."):
        return "aten::" + method.split(".")[1]
    # torchgen writes wrapper_<key>_<overload>_<name>, and no overload part for structured operators
    name = re.sub(r"^wrapper_(?:[A-Z][A-Za-z]*_)?", "", method)
    name = re.sub(r"^[A-Z]\w*?_", "", name)
    return "aten::" + (name[1:] if method.startswith("wrapper_") and name.startswith("_") else name)
