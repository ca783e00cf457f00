"""Compares what a call did on the GPU with what it did on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from .outcome import Outcome, size, version
from .placing import COMPRESSED, compressed_members, may_differ


def bits_equal(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Two CPU tensors of the same dtype and shape."""
    if left.is_complex():
        # Copies: torch makes no view of a view of a sparse tensor.
        left, right = torch.view_as_real(left.clone()), torch.view_as_real(right.clone())
    if torch.equal(left, right):
        return True
    if not may_differ(left):
        return False
    return bool(((left == right) | ((left != left) & (right != right))).all())


def parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The dense tensors that `tensor` consists of."""
    tensor = tensor.detach()
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        if hasattr(tensor, "__tensor_flatten__"):
            names = tensor.__tensor_flatten__()[0]
            # Not the longest and shortest length of a jagged tensor, which torch keeps as sizes of CPU tensors.
            return [part for name in names if "seqlen" not in name for part in parts(getattr(tensor, name))]
        return []
    if tensor.is_nested:
        return [tensor.values()] if tensor.layout == torch.strided else []
    if tensor.layout == torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in COMPRESSED:
        return [*compressed_members(tensor), tensor.values()]
    return [tensor]


def raw(tensor: torch.Tensor) -> torch.Tensor:
    """The numbers as they lie in memory, without conj and neg bits."""
    if tensor.is_conj():
        tensor = tensor.conj()
    return torch._neg_view(tensor) if tensor.is_neg() else tensor


def addresses(tensor: torch.Tensor) -> list[int]:
    """Names the storages of what `tensor` consists of."""
    try:
        return [int(part.untyped_storage()._cdata) for part in parts(tensor)]
    except (NotImplementedError, RuntimeError):
        return []


def is_assertion_of(expected: Exception | None, got: Exception | None) -> bool:
    """Whether the GPU says what the CPU says as an assertion of its kernel: an index that is out of range."""
    return isinstance(got, torch.AcceleratorError) and expected is not None and f"\n{expected}\n" in str(got)


class Comparison:
    """The differences between what a call did on the CPU and on the GPU."""

    def __init__(self, expected: Outcome, got: Outcome, device: torch.device, random: bool, close: bool) -> None:
        self.expected, self.got, self.device, self.random, self.close = expected, got, device, random, close
        self.tolerant = close

    def differences(self) -> Iterator[str]:
        expected, got = self.expected, self.got
        if expected.error is not None or got.error is not None:
            yield from self._errors()
            if expected.error is None or got.error is None:
                return
        else:
            yield from self._leaves("result", expected.result, got.result)
            yield from self._leaves("gradient", expected.gradients, got.gradients)
            # Backward nodes are numbered by the thread that makes them (torch/csrc/autograd/node.h, sequence_nr): on a
            # GPU the device's thread, so that a second backward adds gradients up in another order.
            self.close = True
            yield from self._leaves("second gradient", expected.second, got.second, ("strides and offset",))
            self.close = self.tolerant
            if self._aliases(expected) != self._aliases(got):
                yield f"aliases: expected {self._aliases(expected)}, got {self._aliases(got)}"
        self.random = self.random or expected.error is not None  # what was resized before it was refused holds anything
        for index, (theirs, ours) in enumerate(zip(expected.given, got.given, strict=True)):
            for difference in self._tensor(theirs, ours):
                yield f"operand {index} afterwards: {difference}"
        before = [version(t) - v for t, v in zip(expected.given, expected.versions, strict=True)]
        after = [version(t) - v for t, v in zip(got.given, got.versions, strict=True)]
        # A composite's `out` is resized by an operator that counts, except on the CPU (aten/src/ATen/native/Resize.cpp,
        # resize_output).
        resized = [size(t) != s for t, s in zip(expected.given, expected.sizes, strict=True)]
        # A kernel for sparse tensors may count what it does to its operand's members (sparse_broadcast_to).
        sparse = [tensor.layout != torch.strided for tensor in expected.given]
        allowed = [(b, b + r, b * (not s)) for b, r, s in zip(before, resized, sparse, strict=True)]
        if not self.tolerant and any(a not in each for a, each in zip(after, allowed, strict=True)):
            yield f"versions: expected operands to be written {before} times, got {after}"

    def _errors(self) -> Iterator[str]:
        expected, got = self.expected, self.got

        def shown(outcome: Outcome) -> str:
            error = outcome.error
            return "none" if error is None else f"{type(error).__name__} in {outcome.stage}: {str(error)[:300]}"

        same = type(expected.error) is type(got.error) or is_assertion_of(expected.error, got.error)
        if not same or expected.stage != got.stage:
            yield f"error: expected {shown(expected)}, got {shown(got)}"

    def _leaves(self, what: str, expected: list[Any], got: list[Any], left_out: tuple[str, ...] = ()) -> Iterator[str]:
        if len(expected) != len(got):
            yield f"{what}: expected {len(expected)} values, got {len(got)}"
            return
        for index, (theirs, ours) in enumerate(zip(expected, got, strict=True)):
            if isinstance(theirs, torch.Tensor) and isinstance(ours, torch.Tensor):
                for difference in self._tensor(theirs, ours, left_out):
                    yield f"{what} {index}: {difference}"
            elif type(theirs) is not type(ours):
                yield f"{what} {index}: expected a {type(theirs).__name__}, got a {type(ours).__name__}"
            elif isinstance(theirs, torch.device):
                if ours != self.device:
                    yield f"{what} {index}: expected {self.device}, got {ours}"
            elif not self.random and theirs != ours and theirs == theirs:
                yield f"{what} {index}: expected {theirs!r}, got {ours!r}"

    def _tensor(self, theirs: torch.Tensor, ours: torch.Tensor, left_out: tuple[str, ...] = ()) -> Iterator[str]:
        moves = theirs.device.type == "cpu" and not hasattr(ours, "stays")
        want = self.device if moves else theirs.device
        if ours.device != want:
            yield f"device: expected {want}, got {ours.device}"
        for name, described in TRAITS.items():
            if name in left_out:
                continue
            expected, got = described(theirs), described(ours)
            if expected != got:
                yield f"{name}: expected {expected}, got {got}"
                if name in ("dtype", "shape", "layout", "type"):
                    return
        for mine, his in zip(parts(ours), parts(theirs), strict=True):
            if mine.shape != his.shape or mine.dtype != his.dtype:
                if not self.random:
                    yield f"member: expected {his.dtype} {his.shape}, got {mine.dtype} {mine.shape}"
            elif his.device.type == "cpu":
                if mine.device != want:
                    yield f"member's device: expected {want}, got {mine.device}"
                yield from self._values(raw(his), raw(mine).cpu())

    def _values(self, theirs: torch.Tensor, ours: torch.Tensor) -> Iterator[str]:
        if self.random or bits_equal(theirs, ours):
            return
        if self.close:
            if not is_near(theirs, ours):
                yield f"values, beyond tolerance: expected {short(theirs)}, got {short(ours)}"
            return
        yield f"values: expected {short(theirs)}, got {short(ours)}"

    def _aliases(self, outcome: Outcome) -> list[tuple[str, ...]]:
        """For each result, the first operand or result that it is, and the first that it shares memory with."""
        objects: dict[int, str] = {}
        storages: dict[int, str] = {}

        def see(name: str, tensor: torch.Tensor, owned: list[int]) -> None:
            objects.setdefault(id(tensor), name)
            for one in owned:
                storages.setdefault(one, name)

        for index, tensor in enumerate(outcome.given):
            see(f"operand {index}", tensor, addresses(tensor))
        found = []
        for kind, leaves in (("result", outcome.result), ("gradient", outcome.gradients)):
            for index, leaf in enumerate(leaves):
                if isinstance(leaf, torch.Tensor):
                    owned = addresses(leaf)
                    owners = [storages.get(one, "own") for one in owned]
                    view = kind == "result" and set(owners) != {"own"} and leaf._is_view()
                    found.append((objects.get(id(leaf), "new"), "view" if view else "", *owners))
                    see(f"{kind} {index}", leaf, owned)
        return found


def is_near(theirs: torch.Tensor, ours: torch.Tensor) -> bool:
    """By torch.testing's tolerance for the type, relative to the largest number: sums of large numbers may be small."""
    wide = torch.complex128 if theirs.is_complex() else torch.float64
    left, right = theirs.to(wide), ours.to(wide)
    finite = left.isfinite() & right.isfinite()
    if not torch.equal(left.isfinite(), right.isfinite()):
        return False
    left, right = left[finite], right[finite]
    if left.numel() == 0:
        return True
    relative, absolute = torch.testing._comparison.default_tolerances(theirs.dtype)
    return bool(((left - right).abs() <= absolute + relative * left.abs().max()).all())


def short(tensor: torch.Tensor) -> str:
    with torch.no_grad():
        return str(tensor.flatten()[:12].tolist())[:150]


def strides(tensor: torch.Tensor) -> Any:
    strided = tensor.layout == torch.strided and not tensor.is_nested
    return (tensor.stride(), tensor.storage_offset()) if strided else None


TRAITS: dict[str, Callable[[torch.Tensor], Any]] = {
    "type": type,
    "layout": lambda tensor: tensor.layout,
    "dtype": lambda tensor: tensor.dtype,
    "shape": lambda tensor: None if tensor.is_nested else tensor.shape,
    "strides and offset": strides,
    "conj": torch.Tensor.is_conj,
    "neg": torch.Tensor.is_neg,
    "zero tensor": lambda tensor: tensor._is_zerotensor(),
    "coalesced": lambda tensor: tensor.layout == torch.sparse_coo and tensor.is_coalesced(),
    "requires_grad": lambda tensor: tensor.requires_grad,
    "leaf": lambda tensor: tensor.is_leaf,
    "inference": torch.Tensor.is_inference,
}
