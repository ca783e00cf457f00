"""What is said of a plan of one program: what is rehearsed, and why something is not."""

from __future__ import annotations

from devsan.blocks.measured import Measured
from devsan.blocks.request import Answer
from devsan.diagnostics.messages import Message, message
from devsan.plan.result import Tried


def rehearsing(tried: Tried, number: int, most: int) -> Message:
    """Returns what is rehearsed, and which map of it: the ones before ran out of memory."""
    if tried.what == "map":
        return message("rehearsing a planned map ({number} of at most {most})", number=number, most=most)
    return message("rehearsing a planned map: {lever} ({number} of at most {most})", lever=tried.lever,
                   number=number, most=most)  # fmt: skip


def placed(answer: Answer) -> str:
    """Returns what the program placed of which nothing was measured."""
    if answer.model:
        return f"{answer.model}, whose forward was not called"
    return f"{answer.whole}, which is one block" if answer.whole else "none"


def no_checkpointing(answer: Answer, measured: Measured) -> str:
    """Returns why gradient checkpointing is not tried; "" where it is."""
    if not measured.trains:
        return message("nothing is trained")
    if not answer.checkpointing:
        return message("the model does not support it")
    return message("it is on") if answer.checkpointing == "on" else ""


_TRAINED = 2
"""Of so many bytes of weights one has a gradient, at least, where a program trains them and no adapters beside them."""


def no_quantization(answer: Answer, measured: Measured) -> str:
    """Returns why weights in fewer bits are not tried; "" where they are."""
    if not answer.quantization:
        return message("no model is loaded by from_pretrained of transformers")
    if answer.quantization == "on":
        return message("it is on")
    weights = sum(block.parameters for block in measured.blocks)
    if measured.trains and _TRAINED * sum(block.gradients for block in measured.blocks) > weights:
        return message("the weights themselves are trained; quantized ones take adapters only")
    return message("bitsandbytes is not installed") if answer.quantization == "missing" else ""
