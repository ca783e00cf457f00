"""The first line of a report: what went wrong, in words that hold for every wording of the sentence."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from devsan.diagnostics.messages import message
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
        devices: of the operands, the offending one's last.
        frame: where it happened, None when there are no frames.
        count: of GPUs in this process, when a device ordinal is the matter.
    """
    common, offending = (devices[0], devices[-1]) if len(devices) > 1 else (None, devices[0] if devices else None)
    figures = sentence.figures
    if sentence.kind is Kind.MEMORY:
        return _memory(sentence)
    if sentence.kind is Kind.ORDINAL:
        return _ordinal(offending, count)
    if sentence.kind is Kind.GRADIENT and common and offending:
        if "function" in figures:
            template = "the gradient that {function} returned is on {offending}, its tensor on {common}"
            return message(template, function=figures["function"], offending=offending, common=common)
        return message("the gradient is on {offending}, its tensor on {common}", offending=offending, common=common)
    if sentence.kind is Kind.MODULE and common and offending:
        return message(
            "DataParallel expects its module on {common}, part of it is on {offending}",
            common=common,
            offending=offending,
        )
    if sentence.kind is Kind.NUMPY and offending:
        return message("NumPy reads host memory only, the tensor is on {offending}", offending=offending)
    if sentence.kind is Kind.HOST:
        if offending and offending != "cpu":
            return message("an argument is on {offending}, a CPU tensor is required", offending=offending)
        return message("an argument is on a GPU, a CPU tensor is required")
    if sentence.kind is Kind.FORK:
        return message("CUDA is used in a process that was forked from one that had used it")
    if sentence.kind is Kind.GENERATOR and common and offending:
        return message(
            "the random generator is on {offending}, the tensor on {common}", offending=offending, common=common
        )
    if sentence.kind is Kind.META:
        return message("a tensor on the meta device has no data to copy")
    if sentence.kind is Kind.POINTER:
        template = "Triton cannot reach the tensor behind pointer argument {index} from the current device"
        return message(template, index=figures["index"])
    if sentence.kind is Kind.LOAD:
        template = "the checkpoint's tensors go to cuda:{gpu}, but this process has {gpus}"
        return message(template, gpu=figures["gpu"], gpus=_gpus(int(figures["count"])))
    if sentence.kind is Kind.GROUP:
        return message("the process group does not accept these devices")
    if sentence.kind is Kind.PLACEMENT:
        return message("the library refuses this device map")
    if sentence.kind is Kind.EXPECTED:
        return message("a tensor is on {offending}, expected on {common}", offending=offending, common=common)
    written = op or _written(frame)
    if len(devices) > 1:
        where = {"devices": ", ".join(devices[:-1]), "last": devices[-1]}
        if written is None:
            return message("operands are on {devices} and {last}", **where)
        return message("operands of {op} are on {devices} and {last}", op=written, **where)
    if written is None:
        return message("operands are on different devices")
    return message("operands of {op} are on different devices", op=written)


def _memory(sentence: Sentence) -> str:
    figures = sentence.figures
    device = sentence.devices[0] if sentence.devices else message("the GPU")
    if "requested" not in figures:
        return message("{device} is out of memory", device=device)
    template = "{device} is out of memory: {requested} requested, {free} free of {total}"
    return message(
        template, device=device, requested=figures["requested"], free=figures["free"], total=figures["total"]
    )


def _ordinal(device: str | None, count: int | None) -> str:
    named = device or message("the requested device")
    if count is None:
        return message("{device} does not exist", device=named)
    return message("{device} does not exist: this process has {gpus}", device=named, gpus=_gpus(count))


def _gpus(count: int) -> str:
    if count == 0:
        return message("no GPU")
    if count == 1:
        return message("1 GPU, cuda:0")
    return message("{count} GPUs, cuda:0 to cuda:{last}", count=count, last=count - 1)


def _written(frame: Frame | None) -> str | None:
    """Returns what the source calls the operation: ``torch.cat`` or ``+``."""
    node = frame.node if frame is not None else None
    if frame is not None and isinstance(node, ast.Call):
        function = node.func
        return frame.segment(function) if len(frame.segment(function)) <= 40 else getattr(function, "attr", None)
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        return f"`{_OPERATORS[type(node.op)]}{'=' if isinstance(node, ast.AugAssign) else ''}`"
    if isinstance(node, ast.Compare):
        return f"`{_OPERATORS[type(node.ops[0])]}`" if type(node.ops[0]) in _OPERATORS else message("a comparison")
    return message("an index expression") if isinstance(node, ast.Subscript) else None
