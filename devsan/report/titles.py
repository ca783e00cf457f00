"""The first line of a report: what went wrong, in words that hold for every wording of the sentence."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from devsan.introspect.frames.error_match import Sentence
from devsan.introspect.frames.error_patterns import Kind
from devsan.introspect.frames.frames import Frame

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


def title_of(sentence: Sentence, op: str | None, devices: Sequence[str], frame: Frame | None, count: int | None) -> str:
    """Returns the title.

    Args:
        sentence: the refusal.
        op: the operator ("aten::mm"), None when nobody says.
        devices: of the operands, the odd one's last.
        frame: where it happened, None when there are no frames.
        count: of GPUs in this process, when a device ordinal is the matter.
    """
    common, odd = (devices[0], devices[-1]) if len(devices) > 1 else (None, devices[0] if devices else None)
    figures = sentence.figures
    if sentence.kind is Kind.MEMORY:
        return _memory(sentence)
    if sentence.kind is Kind.ORDINAL:
        return _ordinal(odd, count)
    if sentence.kind is Kind.GRADIENT and common and odd:
        by = f" that {figures['function']} returned" if "function" in figures else ""
        return f"the gradient{by} is on {odd}, its tensor on {common}"
    if sentence.kind is Kind.MODULE and common and odd:
        return f"DataParallel expects its module on {common}, part of it is on {odd}"
    if sentence.kind is Kind.NUMPY and odd:
        return f"NumPy reads host memory only, the tensor is on {odd}"
    if sentence.kind is Kind.GENERATOR and common and odd:
        return f"the random generator is on {odd}, the tensor on {common}"
    if sentence.kind is Kind.META:
        return "a tensor on the meta device has no data to copy"
    if sentence.kind is Kind.POINTER:
        return f"Triton cannot reach the tensor behind pointer argument {figures['index']} from the current device"
    if sentence.kind is Kind.LOAD:
        return f"the checkpoint holds tensors of cuda:{figures['gpu']}, this process has {_gpus(int(figures['count']))}"
    if sentence.kind is Kind.GROUP:
        return "the process group refuses the devices that it is given"
    if sentence.kind is Kind.PLACEMENT:
        return "the device map does not fit"
    written = op or _written(frame)
    subject = f"operands of {written}" if written is not None else "operands"
    if len(devices) > 1:
        return f"{subject} are on {', '.join(devices[:-1])} and {devices[-1]}"
    return f"{subject} are on different devices"


def _memory(sentence: Sentence) -> str:
    figures = sentence.figures
    device = sentence.devices[0] if sentence.devices else "the GPU"
    if "requested" not in figures:
        return f"{device} is out of memory"
    return f"{device} is out of memory: {figures['requested']} requested, {figures['free']} free of {figures['total']}"


def _ordinal(device: str | None, count: int | None) -> str:
    has = f": this process has {_gpus(count)}" if count is not None else ""
    return f"{device or 'the device that is asked for'} does not exist{has}"


def _gpus(count: int) -> str:
    if count == 0:
        return "no GPU"
    return "1 GPU, cuda:0" if count == 1 else f"{count} GPUs, cuda:0 to cuda:{count - 1}"


def _written(frame: Frame | None) -> str | None:
    """Returns what the source calls the operation: ``torch.cat`` or ``+``."""
    node = frame.node if frame is not None else None
    if frame is not None and isinstance(node, ast.Call):
        function = node.func
        return frame.segment(function) if len(frame.segment(function)) <= 40 else getattr(function, "attr", None)
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        return f"`{_OPERATORS[type(node.op)]}{'=' if isinstance(node, ast.AugAssign) else ''}`"
    if isinstance(node, ast.Compare):
        return f"`{_OPERATORS[type(node.ops[0])]}`" if type(node.ops[0]) in _OPERATORS else "a comparison"
    return "an index expression" if isinstance(node, ast.Subscript) else None
