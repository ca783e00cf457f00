"""The kinds of check: how a sample is changed and called, and how many samples of an operator and type are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.testing._internal.common_utils import noncontiguous_like
from torch.utils import _pytree as pytree

from .outcome import weights_of
from .placing import may_differ, tensors
from .samples import Sample, Subject, call_of, differentiable

Change = Callable[[torch.Tensor], torch.Tensor]
DOUBLE = (torch.float64, torch.complex128)


@dataclass
class Trial:
    """One sample to be run on both devices."""

    sample: Sample
    call: Callable[[Any], Any]
    order: int = 0  # how many times it is differentiated
    change: Change | None = None  # of each tensor, after it was placed
    prepare: Callable[[Any], Any] = lambda tree: tree  # of the placed tree


@dataclass(frozen=True)
class Kind:
    name: str
    cap: int  # samples an operator and type
    trials: Callable[[Subject, Sample], Iterator[Trial]]


def detached(sample: Sample) -> Sample:
    def drop(leaf: Any) -> Any:
        return leaf.detach() if isinstance(leaf, torch.Tensor) and leaf.requires_grad else leaf

    memo: dict[int, Any] = {}
    tree = pytree.tree_map(lambda leaf: memo.setdefault(id(leaf), drop(leaf)), sample.tree)
    return Sample(tree, sample.call, sample.process, sample.close, sample.random)


def forward(subject: Subject, sample: Sample) -> Iterator[Trial]:
    kept = subject.database in ("module_db", "optim_db")
    yield Trial(sample if kept else detached(sample), sample.call)


def backward(subject: Subject, sample: Sample) -> Iterator[Trial]:
    if differentiable(subject) or subject.database == "module_db":
        yield Trial(sample, follow(sample), order=1)


def gradgrad(subject: Subject, sample: Sample) -> Iterator[Trial]:
    if subject.database == "optim_db" or not subject.info.supports_gradgrad:
        return
    if differentiable(subject) or subject.database == "module_db":
        yield Trial(sample, follow(sample), order=2)


def forward_mode(subject: Subject, sample: Sample) -> Iterator[Trial]:
    """The result with its derivative along a direction (torch.autograd.forward_ad)."""
    if subject.database not in ("op_db", "foreach") or not differentiable(subject):
        return
    if not subject.info.supports_forward_ad:
        return

    def dual(leaf: Any) -> Any:
        moves = isinstance(leaf, torch.Tensor) and leaf.requires_grad
        return forward_ad.make_dual(leaf.detach(), weights_of(leaf)) if moves else leaf

    def both(leaf: Any) -> Any:
        return tuple(forward_ad.unpack_dual(leaf)) if isinstance(leaf, torch.Tensor) and may_differ(leaf) else leaf

    def call(tree: Any) -> Any:
        with forward_ad.dual_level():
            return pytree.tree_map(both, sample.call(pytree.tree_map(dual, tree)))

    yield Trial(sample, call)


def float_leaves(sample: Sample) -> list[torch.Tensor]:
    return list({id(leaf): leaf for leaf in tensors(sample.tree) if may_differ(leaf)}.values())


def differentiated_by(sample: Sample, source: torch.Tensor) -> Trial:
    """`source` alone requires a gradient, wherever in the sample it is."""

    def copy(leaf: Any) -> Any:
        return leaf.detach().requires_grad_(leaf is source) if isinstance(leaf, torch.Tensor) else leaf

    memo: dict[int, Any] = {}
    tree = pytree.tree_map(lambda leaf: memo.setdefault(id(leaf), copy(leaf)), sample.tree)
    return Trial(Sample(tree, sample.call, close=sample.close, random=sample.random), follow(sample), order=1)


def follow(sample: Sample) -> Callable[[Any], Any]:
    return lambda tree: sample.process(sample.call(tree))


def alone(subject: Subject, sample: Sample) -> Iterator[Trial]:
    """By each operand that torch's sample differentiates, while the others require no gradient."""
    if is_operator(subject) and differentiable(subject):
        asked = [leaf for leaf in float_leaves(sample) if leaf.requires_grad]
        yield from (differentiated_by(sample, leaf) for leaf in asked if len(asked) > 1)


def unasked(subject: Subject, sample: Sample) -> Iterator[Trial]:
    """By each operand that torch's sample leaves without a gradient: a mask, a weight, a bound, a value in a list."""
    if is_operator(subject) and differentiable(subject):
        yield from (differentiated_by(sample, leaf) for leaf in float_leaves(sample) if not leaf.requires_grad)


def is_operator(subject: Subject) -> bool:
    return subject.database not in ("module_db", "optim_db")


def out(subject: Subject, sample: Sample) -> Iterator[Trial]:
    """Into tensors of the right size, without elements, of other strides, and of another type."""
    op = subject.info
    if not is_operator(subject) or not op.supports_out or subject.database == "foreach":
        return
    plain = detached(sample)
    try:
        expected = plain.call(plain.tree)
    except Exception:
        return
    if not tensors(expected) or any(tensor.layout != torch.strided for tensor in tensors(expected)):
        return

    def into(make: Change) -> Trial:
        def call(tree: Any) -> Any:
            (value, args, kwargs), targets = tree
            return op(value, *args, **kwargs, out=targets), targets

        targets = pytree.tree_map(lambda leaf: make(leaf) if isinstance(leaf, torch.Tensor) else leaf, expected)
        if isinstance(expected, tuple):
            targets = tuple(targets)
        return Trial(Sample((plain.tree, targets), plain.call), call)

    yield into(lambda like: torch.full_like(like.resolve_conj().resolve_neg(), 1))
    yield into(lambda like: torch.empty(0, dtype=like.dtype))
    yield into(lambda like: torch.zeros((*like.shape, 2), dtype=like.dtype)[..., 1])
    yield into(lambda like: torch.zeros(like.shape, dtype=torch.complex128 if may_differ(like) else torch.float64))
    yield into(lambda like: torch.zeros(like.shape, dtype=torch.int64))


def inplace(subject: Subject, sample: Sample) -> Iterator[Trial]:
    variant = subject.info.get_inplace() if is_operator(subject) else None
    if variant is not None:
        yield Trial(detached(sample), call_of(variant))


def inplace_backward(subject: Subject, sample: Sample) -> Iterator[Trial]:
    variant = subject.info.get_inplace() if is_operator(subject) else None
    if variant is None or not differentiable(subject) or not subject.info.supports_inplace_autograd:
        return

    def call(tree: Any) -> Any:
        value, args, kwargs = tree
        return variant(pytree.tree_map(torch.clone, value), *args, **kwargs)

    yield Trial(sample, call, order=1)


def methods(subject: Subject, sample: Sample) -> Iterator[Trial]:
    if is_operator(subject):
        op = subject.info
        for variant in (op.get_method(), op.get_operator(), op.get_inplace_operator()):
            if variant is not None:
                yield Trial(detached(sample), call_of(variant))


def changed(change: Change, applies: Callable[[torch.Tensor], bool]) -> Callable[[Subject, Sample], Iterator[Trial]]:
    """Forward, or backward where there is one, with tensors changed after they were placed."""

    def trials(subject: Subject, sample: Sample) -> Iterator[Trial]:
        if is_operator(subject) and any(applies(tensor) for tensor in tensors(sample.tree)):
            order = 1 if differentiable(subject) else 0
            source = sample if order else detached(sample)
            change_some: Change = lambda tensor: change(tensor) if applies(tensor) else tensor  # noqa: E731
            yield Trial(source, follow(sample), order, change_some)

    return trials


def is_plain(tensor: torch.Tensor) -> bool:
    return tensor.layout == torch.strided and not tensor.is_nested and type(tensor) is torch.Tensor


def to_channels_last(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(memory_format=torch.channels_last if tensor.dim() == 4 else torch.channels_last_3d)


def conjugated(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.conj().resolve_conj().conj()


def negated(tensor: torch.Tensor) -> torch.Tensor:
    return torch._neg_view(torch.neg(tensor))


def first_element(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1)[0]


def without_elements(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.new_empty((0, *tensor.shape[1:]))


def broadcast(tensor: torch.Tensor) -> torch.Tensor:
    return tensor[:1].expand(tensor.shape)


def may_be_negated(tensor: torch.Tensor) -> bool:
    return is_plain(tensor) and may_differ(tensor) and tensor.dtype.itemsize > 1


KINDS = (
    Kind("forward", 64, forward),
    Kind("backward", 16, backward),
    Kind("gradgrad", 4, gradgrad),
    Kind("alone", 6, alone),
    Kind("unasked", 16, unasked),
    Kind("forward mode", 3, forward_mode),
    Kind("out=", 4, out),
    Kind("in-place", 8, inplace),
    Kind("in-place, backward", 4, inplace_backward),
    Kind("methods", 4, methods),
    Kind("non-contiguous", 8, changed(noncontiguous_like, is_plain)),
    Kind("channels_last", 4, changed(to_channels_last, lambda t: is_plain(t) and t.dim() in (4, 5))),
    Kind("conj", 8, changed(conjugated, lambda t: is_plain(t) and t.is_complex())),
    Kind("neg", 4, changed(negated, may_be_negated)),
    Kind("0-dim", 4, changed(first_element, lambda t: is_plain(t) and t.numel() > 0)),
    Kind("empty", 4, changed(without_elements, lambda t: is_plain(t) and t.dim() > 0)),
    Kind("expanded", 4, changed(broadcast, lambda t: is_plain(t) and t.dim() > 0)),
)
