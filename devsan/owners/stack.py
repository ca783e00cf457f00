"""The stack of a placement, and the rules by which a framework is recognized in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from devsan import core

MACHINERY = frozenset({"torch", "python", "numpy"})


@dataclass(frozen=True)
class Rule:
    """What a frame of a framework's own means.

    Attributes:
        package: the distribution that the frame belongs to.
        file: a part of the file's name; "" for any file of the package.
        functions: last parts of the function's qualified name, or whole qualified names; empty for any function.
        mechanism: the means by which it places.
        setting: what told it to, as the user writes it; "device_map" stands for the entry that decides.
        owner: the owner's name where it is not the package's.
        loads: whether the tensor was read or received, not moved.
        on_host: the setting that decides about what is placed on the host, where that is another one.
        passes: whether the frame only hands on what its caller asked for, as a wrapper around ``Module.to`` does: then
            the caller did the placing.
    """

    package: str
    file: str = ""
    functions: tuple[str, ...] = ()
    mechanism: str = ""
    setting: str = ""
    owner: str = ""
    loads: bool = False
    on_host: str = ""
    passes: bool = False

    def fits(self, frame: core.Frame) -> bool:
        """Returns whether ``frame`` (the core's) is one that this rule is about."""
        if frame.package != self.package or self.file not in frame.file:
            return False
        return not self.functions or frame.function in self.functions or last_part(frame.function) in self.functions


def last_part(function: str) -> str:
    """Returns the function's own name: "forward" of "LlamaModel.forward"."""
    return function.rpartition(".")[2]


@dataclass(frozen=True)
class Step:
    """A frame of a stack with the rule that it fits, if any."""

    frame: core.Frame
    rule: Rule | None

    @property
    def is_caller(self) -> bool:
        """Whether the frame stands for somebody: neither machinery nor handing on."""
        return self.frame.package not in MACHINERY and not (self.rule is not None and self.rule.passes)


def own_run(steps: Sequence[Step]) -> Iterator[Step]:
    """Yields those that did the placing: torch's and Python's, then those of the one package that called them.

    What lies further out only called something that places: a program that accelerate runs is not accelerate.
    """
    package: str | None = None
    for step in steps:
        frame = step.frame
        if step.is_caller:
            if package is not None and frame.package != package:
                return
            package = frame.package
            if package == "":
                return
        elif package is not None and frame.package == "torch":
            # torch calling into a library (Module._call_impl): the library's caller is another matter
            return
        yield step
