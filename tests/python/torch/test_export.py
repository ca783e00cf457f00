"""torch.export and torch.fx on emulated GPUs."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export.passes import move_to_device_pass

GPU = "cuda:1"
Same = Callable[..., None]


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.linear(x)) + torch.ones(4, device=x.device)


def test_export(same: Same) -> None:
    model, x = Model().eval(), torch.randn(3, 4)
    on_gpu = copy.deepcopy(model).to(GPU)
    program = torch.export.export(on_gpu, (x.to(GPU),))
    assert "cuda" in program.graph_module.code
    same(program.module()(x.to(GPU)), model(x))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    loaded = torch.export.load(file)
    same(loaded.module()(x.to(GPU)), model(x))
    same(move_to_device_pass(loaded, "cuda:0").module()(x.cuda(0)), model(x), "cuda:0")
    same(move_to_device_pass(torch.export.export(model, (x,)), GPU).module()(x.to(GPU)), model(x))


def test_export_of_shapes_that_vary(same: Same) -> None:
    model = Model().eval()
    shapes = ({0: torch.export.Dim("batch", min=2)},)
    x = torch.randn(7, 4)
    program = torch.export.export(copy.deepcopy(model).to(GPU), (x[:3].to(GPU),), dynamic_shapes=shapes)
    same(program.run_decompositions().module()(x.to(GPU)), model(x))


def test_symbolic_traces(same: Same) -> None:
    model, x = Model(), torch.randn(3, 4)
    graph = torch.fx.symbolic_trace(copy.deepcopy(model).to(GPU))
    same(graph(x.to(GPU)), model(x))
    same(torch.fx.Interpreter(graph).run(x.to(GPU)), model(x))
    same(copy.deepcopy(graph).to("cuda:0")(x.cuda(0)), model(x), "cuda:0")


def test_fused_batch_norm(same: Same) -> None:
    from torch.fx.experimental.optimization import fuse

    model, x = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).eval(), torch.randn(1, 3, 5, 5)
    same(fuse(copy.deepcopy(model).to(GPU))(x.to(GPU)), model(x))
