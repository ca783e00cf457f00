"""What the reference run lets pass beside what the policy ``warn`` does.

NOTE [The reference] The numbers that a fix is compared with are those of one device. The policy ``warn`` computes them
where an operator meets tensors of several devices. A program also stops at what is no operator: numpy that is to read
a GPU, a function that reads an argument on the host, a gradient of another device, a generator of another device, a
checkpoint of a GPU that is not there, Python code that compares devices. ``DEVSAN_REFERENCE`` names how far the run
goes:

  meeting  all but the last pass, and ranks that share one GPU, which NCCL refuses, and forks that use one,
           and collectives of tensors of the host
  one_gpu  moreover all GPUs are one (NOTE [All on one GPU] in core/emulate/runtime/device.h)
  kept     moreover what has values keeps them: what is sent to "meta" stays where it was
  whole    moreover all tensors have values: what is made on "meta" is on the host
  alone    all GPUs are one, and what would be made on the host is made there: no tensor moves at all. No fix is
           compared with it, but a program that ends (``alone_run``)

docs/decisions/0016-numbers-of-a-fix.md has the reasons.
"""

from __future__ import annotations

import functools
import os
from typing import Any

from devsan import core
from devsan.numbers import host_collectives, one_place

VARIABLE = "DEVSAN_REFERENCE"
MEETING = "meeting"
ONE_GPU = "one_gpu"
KEPT = "kept"
WHOLE = "whole"
ALONE = "alone"
KINDS = (MEETING, ONE_GPU, KEPT, WHOLE)
WITH_VALUES = (KEPT, WHOLE)

_BEFORE_CUDA = 15  # torch/serialization.py asks CUDA's own deserializer at 20


def begin() -> None:
    """Has this process be a reference run where its environment asks for it. Needs torch and a running emulation."""
    kind = os.environ.get(VARIABLE)
    if kind not in (*KINDS, ALONE):
        return
    core.take_any_generator(True)
    core.share_gpus(True)
    _make_generators_of_the_host()
    if kind != MEETING:
        core.place_on_first(True)
        one_place.stay_on_first()
    if kind in WITH_VALUES:
        one_place.keep_values(makes_them=kind == WHOLE)
    if kind == ALONE:
        one_place.begin_on_first()
    _read_gpus()
    _bring_arguments()
    _load_from_any_gpu(all_to_first=kind != MEETING)
    _take_gradients()
    _take_gradients_of_functions()
    _take_gradients_of_roots()
    _bring_modules()
    host_collectives.bring_to_collectives()
    _compute_after_forks()


def _read_gpus() -> None:
    """numpy reads tensors of GPUs. torch refuses it in torch/csrc/utils/tensor_numpy.cpp."""
    import torch

    kind: Any = torch.Tensor
    numpy, array, wrap = kind.numpy, kind.__array__, kind.__array_wrap__

    def read(tensor: Any, *rest: Any, **named: Any) -> Any:
        return numpy(tensor.cpu() if tensor.is_cuda else tensor, *rest, **named)

    def as_array(tensor: Any, *rest: Any, **named: Any) -> Any:
        return array(tensor.cpu() if tensor.is_cuda else tensor, *rest, **named)

    def wrapped(tensor: Any, result: Any, *rest: Any) -> Any:
        # What numpy computes of a copy is numpy's; of a tensor of the host torch makes a tensor again.
        return result if tensor.is_cuda else wrap(tensor, result, *rest)

    read.__name__, as_array.__name__, wrapped.__name__ = "numpy", "__array__", "__array_wrap__"
    kind.numpy, kind.__array__, kind.__array_wrap__ = read, as_array, wrapped


def _make_generators_of_the_host() -> None:
    """A sampler of the host takes no generator of a GPU. One of the host draws the same numbers for both."""
    import torch

    own: Any = torch.Generator

    class OfAnyDevice(type(own)):  # type: ignore[misc]
        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, own)

    class Generator(own, metaclass=OfAnyDevice):  # type: ignore[misc]
        def __new__(cls, device: Any = None) -> Any:
            return own.__new__(cls)

    torch.Generator = Generator


def _bring_arguments() -> None:
    """Functions get the arguments that they read on the host from GPUs, too; what is on a GPU stays, when it is pinned.

    torch refuses them in ATen/native/PackedSequence.cpp, TensorShape.cpp and Memory.cpp, and in
    ATen/core/Generator.h.
    """
    import torch

    _bring(torch._VF, "_pack_padded_sequence", 1)
    _bring(torch, "set_rng_state", 0)
    _bring(torch.random, "set_rng_state", 0)
    _bring(torch, "tensor_split", 1)
    _bring(torch.Tensor, "tensor_split", 1)

    kind: Any = torch.Tensor
    pin = kind.pin_memory

    def pin_memory(tensor: Any, *rest: Any, **named: Any) -> Any:
        return tensor if tensor.is_cuda else pin(tensor, *rest, **named)

    kind.pin_memory = pin_memory


def _bring(holder: Any, name: str, position: int) -> None:
    """Has the function ``name`` of ``holder`` get its argument at ``position`` on the host."""
    import torch

    function = getattr(holder, name)

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        given = list(arguments)
        if len(given) > position and isinstance(given[position], torch.Tensor) and given[position].is_cuda:
            given[position] = given[position].cpu()
        return function(*given, **named)

    setattr(holder, name, called)


def _compute_after_forks() -> None:
    """A process that was forked uses GPUs as its parent does. torch refuses it in torch/cuda/__init__.py."""
    import torch

    torch.cuda._is_in_bad_fork = lambda: False


def _bring_modules() -> None:
    """A module comes to the first GPU of its DataParallel, which refuses it elsewhere."""
    import torch

    kind: Any = torch.nn.DataParallel
    forward = kind.forward

    @functools.wraps(forward)
    def brought(parallel: Any, *inputs: Any, **named: Any) -> Any:
        if parallel.device_ids:
            parallel.module.to(parallel.src_device_obj)
        return forward(parallel, *inputs, **named)

    kind.forward = brought


def _load_from_any_gpu(all_to_first: bool) -> None:
    """A checkpoint of a GPU that this process does not have is read to the first one; where all GPUs are one, so is
    every checkpoint."""
    import torch

    def to_first(storage: Any, location: str) -> Any:
        kind, _, number = location.partition(":")
        there = 1 if all_to_first else torch.cuda.device_count()
        if kind != "cuda" or int(number or 0) < there:
            return None
        return torch.serialization.default_restore_location(storage, "cuda:0")

    torch.serialization.register_package(_BEFORE_CUDA, lambda _: None, to_first)


def _take_gradients() -> None:
    """A gradient comes to its tensor's device when it is assigned."""
    import torch

    kind: Any = torch.Tensor
    own = kind.grad

    def assign(tensor: Any, value: Any) -> None:
        moved = isinstance(value, torch.Tensor) and value.device != tensor.device
        own.__set__(tensor, value.to(tensor.device) if moved else value)

    kind.grad = property(own.__get__, assign, own.__delete__, own.__doc__)


def _take_gradients_of_functions() -> None:
    """What the backward of a ``torch.autograd.Function`` returns comes to the devices that autograd expects.

    torch refuses others in validate_outputs (torch/csrc/autograd/engine.cpp).
    """
    from torch.autograd.function import BackwardCFunction

    kind: Any = BackwardCFunction
    apply = kind.apply

    def aligned(node: Any, *gradients: Any) -> Any:
        returned = apply(node, *gradients)
        wanted = [_device_of(*edge) for edge in node.next_functions if edge[0] is not None]
        found = list(returned) if isinstance(returned, tuple) else [returned]
        places = [place for place, each in enumerate(found) if each is not None]
        # An argument that is no tensor has no edge, and its gradient is None.
        if len(places) == len(wanted) or len(set(wanted)) == 1:
            for number, place in enumerate(places):
                found[place] = found[place].to(wanted[number % len(wanted)])
        return tuple(found) if isinstance(returned, tuple) else found[0]

    kind.apply = aligned


def _take_gradients_of_roots() -> None:
    """The gradients that a backward pass begins with come to the devices of its roots."""
    import torch

    graph: Any = torch.autograd.graph
    run = graph._engine_run_backward

    def brought(roots: Any, gradients: Any, *rest: Any, **named: Any) -> Any:
        pairs = zip(roots, gradients, strict=True)
        moved = [given if given is None else given.to(root.device) for root, given in pairs]
        return run(roots, tuple(moved), *rest, **named)

    graph._engine_run_backward = torch.autograd._engine_run_backward = brought


def _device_of(node: Any, place: int) -> Any:
    """The device of the gradient that ``node`` takes at ``place``; a parameter's data may have moved since (ZeRO-3)."""
    return node._input_metadata[place].device
