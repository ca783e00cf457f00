"""Measures the blocks of a model by what the rehearsal charges to its first GPU, on which everything is.

NOTE [Windows] The beginning of a block's forward pass, of its backward pass (when the gradient of its output is there),
and of an optimizer's step each close a window and open the next. What a window has allocated belongs to the block that
opened it, so that every byte belongs to one: what stands between two blocks, a loss or a mask, to the first of them.
During a backward pass the forward passes that checkpointing repeats open no window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from devsan import _core
from devsan.blocks.measured import INPUTS, Block, Measured, Names
from devsan.blocks.tree import parts_of

_FIRST = 0
_STATES = 3  # steps after which optimizers have made their state


class Meter:
    """Watches the largest model that is placed.

    Args:
        gpus: how many GPUs there are; the meter looks at the first.
    """

    def __init__(self, gpus: int) -> None:
        self._gpus = gpus
        self._model: Any = None
        self._handles: list[Any] = []
        self._steps = self._size = 0
        self._last = INPUTS

    @property
    def model(self) -> str:
        """Returns the class of what is measured; "" where no model was placed."""
        return type(self._model).__name__ if self._model is not None else ""

    def watch(self, model: Any) -> None:
        """Measures ``model``, unless a larger one is measured."""
        size = _size(model.parameters())
        if self._model is not None and size < self._size:
            return
        for handle in self._handles:
            handle.remove()
        self._model, self._size = model, size
        parts = parts_of(model)
        self._parts = [part for part in parts if isinstance(part[1], torch.nn.Module)]
        self._beside = [part for part in parts if not isinstance(part[1], torch.nn.Module)]
        self._blocks = [Block(path, type(module).__name__) for path, module in self._parts]
        self._order: list[int] = []
        self._edges: dict[tuple[int, int], int] = {}
        self._origins: dict[int, tuple[Any, int]] = {}
        self._held = [0] * len(self._blocks)
        self._window: tuple[str, int] = ("", INPUTS)
        self._at_start = 0
        self._passes = self._step_extra = 0
        self._trains = self._is_backward = self._keeps_gradients = False
        self._handles = [
            model.register_forward_pre_hook(self._begin_pass, with_kwargs=True),
            model.register_forward_hook(self._end_pass),
            register_optimizer_step_pre_hook(self._begin_step),
            register_optimizer_step_post_hook(self._end_step),
        ]
        for number, (_, module) in enumerate(self._parts):
            self._handles += [
                module.register_forward_pre_hook(_numbered(self._begin_block, number), with_kwargs=True, prepend=True),
                module.register_forward_hook(_numbered(self._end_block, number)),
            ]

    def measured(self) -> Measured | None:
        """Returns what was measured; None where no model ran."""
        if self._model is None or not self._passes:
            return None
        self._close()
        order = self._in_order()
        rank = {number: place for place, number in enumerate(order)}
        rank[INPUTS], rank[len(self._parts)] = INPUTS, len(order) + len(self._beside)
        blocks = [self._blocks[number] for number in order]
        tied = self._weigh(order)
        blocks += [Block(path, type(tensor).__name__, parameters=tensor.nbytes, is_pinned=True)
                   for path, tensor in self._beside]  # fmt: skip
        edges = [(rank[first], rank[second], size) for (first, second), size in self._edges.items()]
        groups = [sorted(rank[number] for number in group) for group in tied]
        return Measured(self.model, blocks, edges, self._passes, self._trains, self._keeps_gradients,
                        self._step_extra, groups)  # fmt: skip

    def names(self) -> Names | None:
        """Returns what an entry of a map of the model can name; None where none was placed."""
        if self._model is None:
            return None
        alike: dict[int, list[str]] = {}
        # As accelerate has it (check_device_map): a buffer that is not saved needs no entry.
        for name, tensor in self._model.state_dict(keep_vars=True).items():
            if hasattr(tensor, "device"):
                alike.setdefault(id(tensor), []).append(name)
        return Names([path for path, _ in self._model.named_modules()], list(alike.values()))

    def _in_order(self) -> list[int]:
        """The blocks as they ran; one that never did stands behind its neighbor."""
        order = list(self._order)
        for number in range(len(self._parts)):
            if number not in order:
                order.insert(order.index(number - 1) + 1 if number else 0, number)
        return order

    def _own_parameters(self) -> list[list[Any]]:
        """The parameters of each block that no block before it has."""
        seen: set[int] = set()
        every: list[list[Any]] = [[] for _ in self._parts]
        for number in self._in_order():
            every[number] = [each for each in self._parts[number][1].parameters() if id(each) not in seen]
            seen |= set(map(id, every[number]))
        return every

    def _weigh(self, order: list[int]) -> list[list[int]]:
        """Counts parameters and buffers, each once; returns the blocks that share them."""
        homes: dict[int, list[int]] = {}
        own = self._own_parameters()
        for number in order:
            block, module = self._blocks[number], self._parts[number][1]
            for tensor in module.parameters():
                homes.setdefault(id(tensor), []).append(number)
            block.parameters, block.buffers = _size(own[number]), _size(module.buffers())
        tied = {tuple(dict.fromkeys(home)) for home in homes.values() if len(set(home)) > 1}
        for group in tied:
            for number in group:
                self._blocks[number].is_pinned = True
        return [list(group) for group in sorted(tied)]

    def _open(self, kind: str, number: int) -> None:
        self._close()
        _core.reset_peak_memory_stats(_FIRST)
        self._window, self._at_start = (kind, number), _allocated()["current"]

    def _close(self) -> None:
        (kind, number), now = self._window, _allocated()
        if number == INPUTS:
            if kind == "step":
                self._step_extra = max(self._step_extra, now["peak"] - now["current"])
            return
        block = self._blocks[number]
        if kind == "forward":
            self._held[number] += now["current"] - self._at_start
            block.activations = max(block.activations, self._held[number])
            block.forward_extra = max(block.forward_extra, now["peak"] - now["current"])
        else:
            block.backward_extra = max(block.backward_extra, now["peak"] - self._at_start)

    def _begin_pass(self, model: Any, args: Any, named: Any) -> None:
        if self._is_backward and torch.is_grad_enabled():
            self._open("", INPUTS)
            self._is_backward = False
            self._held = [0] * len(self._blocks)
            self._keeps_gradients |= any(each.grad is not None for each in model.parameters())
        self._passes += 1
        self._last = INPUTS
        for tensor in _tensors_in((args, named)):
            self._origins[_key(tensor)] = (_reference(tensor), INPUTS)

    def _end_pass(self, model: Any, args: Any, output: Any) -> None:
        if not self._is_backward:
            self._receive(len(self._parts), output)

    def _begin_block(self, number: int, module: Any, args: Any, named: Any) -> None:
        if self._is_backward:
            return
        self._open("forward", number)
        block = self._blocks[number]
        block.calls += 1
        if block.calls == 1:
            self._order.append(number)
        self._receive(number, (args, named))

    def _end_block(self, number: int, module: Any, args: Any, output: Any) -> None:
        if self._is_backward and not torch.is_grad_enabled():
            return
        waiting = True

        def begin_backward(gradient: Any) -> None:
            nonlocal waiting
            if waiting:
                waiting = False
                self._trains = self._is_backward = True
                self._open("backward", number)

        for tensor in _tensors_in(output):
            if not self._is_backward:
                self._origins[_key(tensor)] = (_reference(tensor), number)
                if tensor.requires_grad and not tensor.is_leaf:
                    tensor.register_hook(begin_backward)
        self._last = number

    def _receive(self, number: int, taken: Any) -> None:
        seen: set[int] = set()
        for tensor in _tensors_in(taken):
            key = _key(tensor)
            if key in seen or tensor.device.type != "cuda":
                continue
            seen.add(key)
            reference, origin = self._origins.get(key, (None, INPUTS))
            if reference is None or reference.expired():
                origin = self._last
                self._origins[key] = (_reference(tensor), origin)
            if origin != number:
                size = tensor.nbytes * (2 if tensor.requires_grad else 1)
                self._edges[origin, number] = self._edges.get((origin, number), 0) + size

    def _begin_step(self, optimizer: Any, args: Any, named: Any) -> None:
        if self._steps < _STATES:
            for number, parameters in enumerate(self._own_parameters()):
                gradients = (each.grad for each in parameters if each.grad is not None)
                self._blocks[number].gradients = max(self._blocks[number].gradients, _size(gradients))
        self._open("step", INPUTS)

    def _end_step(self, optimizer: Any, args: Any, named: Any) -> None:
        self._open("", INPUTS)
        self._is_backward = True  # until the next pass
        self._steps += 1
        if self._steps > _STATES:
            return
        state: Mapping[Any, Any] = optimizer.state
        for number, parameters in enumerate(self._own_parameters()):
            held = sum(_size(_tensors_in(list(state[each].values()))) for each in parameters if each in state)
            self._blocks[number].optimizer_state = max(self._blocks[number].optimizer_state, held)


def _numbered(hook: Any, number: int) -> Any:
    return lambda *args: hook(number, *args)


def _allocated() -> Mapping[str, int]:
    found: Mapping[str, int] = _core.memory_stats(_FIRST)["allocated_bytes"]["all"]
    return found


def _size(tensors: Any) -> int:
    return sum(each.nbytes for each in tensors if each.device.type != "cpu")


def _key(tensor: Any) -> int:
    return int(tensor.untyped_storage().data_ptr())


def _reference(tensor: Any) -> Any:
    from torch.multiprocessing.reductions import StorageWeakRef

    return StorageWeakRef(tensor.untyped_storage())


def _tensors_in(value: Any) -> Iterator[Any]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _tensors_in(each)
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _tensors_in(each)
