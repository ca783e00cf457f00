"""A tensor that was left behind by what moved the rest of its batch, or could not move any of it."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Sequence
from typing import Any

import pytest
import torch

import devsan
from devsan.introspect.frames.frames import Whose
from devsan.introspect.frames.tensors import memory_of
from devsan.introspect.models.batches import left_in


@dataclasses.dataclass
class Batch:
    atoms: Any
    index: list[Any]


def frame(whose: Whose = Whose.PROGRAM, **variables: object) -> Any:
    scope = types.SimpleNamespace(locals=variables)
    return types.SimpleNamespace(whose=whose, scope=scope, code=(lambda: None).__code__)


@pytest.fixture(autouse=True)
def two_gpus():
    with devsan.emulate(gpus=2):
        yield


def found(tensor: Any, *frames: Any) -> tuple[str, str] | None:
    frames_of: Sequence[Any] = frames
    return left_in(tensor, memory_of(tensor), str(tensor.device), frames_of)


def test_an_element_of_a_list_in_a_dataclass():
    index, atoms = torch.arange(3), torch.ones(3, device="cuda")
    assert found(index, frame(batch=Batch(atoms, [index]))) == ("batch.index[0]", "batch.atoms")
    assert found(index, frame(inputs={"ids": atoms, "extra": {"mask": index}})) == (
        "inputs['extra']['mask']", "inputs['ids']")  # fmt: skip


def test_the_innermost_frame_of_the_program_says_it():
    index, atoms = torch.arange(3), torch.ones(3, device="cuda")
    outer, inner = frame(batch=[atoms, index]), frame(pair=(atoms, index))
    assert found(index, outer, inner, frame(Whose.HIDDEN, args=(atoms, index))) == ("pair[1]", "pair[0]")


class Moved(Batch):
    def to(self, device: str) -> Moved:
        return Moved(self.atoms.to(device), self.index)


def test_an_object_whose_class_has_no_to_is_moved_by_nobody():
    index = torch.arange(3)
    assert found(index, frame(batch=Batch(torch.ones(3), [index]))) == ("batch.index[0]", "")
    assert found(index, frame(batch=Moved(torch.ones(3), [index]))) is None
    assert found(index, frame(self=Batch(torch.ones(3), [index]))) is None


def test_a_field_on_a_gpu_that_the_to_of_its_object_passes_by():
    index = torch.arange(3, device="cuda:0")
    state = Moved(torch.ones(3), [index]).to("cuda:1")
    assert found(index[:2], frame(state=state)) == ("state.index[0]", "state.atoms")
    assert found(index, frame(pair=[index, state.atoms])) is None, "a list may hold a tensor for each GPU"


def test_a_batch_on_the_host_and_an_equal_tensor_are_none():
    index, atoms = torch.arange(3), torch.ones(3, device="cuda")
    assert found(index, frame(batch=[torch.ones(3), index])) is None
    assert found(index, frame(batch=Batch(torch.ones(3, device="cuda"), [index.clone()]))) is None
    assert found(index, frame(optimizer=types.SimpleNamespace(params=[atoms], master=[index]))) is None
    assert found(index, frame(model=torch.nn.Linear(3, 3).to("cuda"), index=index)) is None
