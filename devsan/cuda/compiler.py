"""The compilers that have no GPU to compile for: ``torch.compile``, TorchScript, and Triton for kernels of a program.

Inductor writes Triton kernels for a GPU, and there is no GPU to run them. A graph with a GPU in it runs as dynamo
captured it, operator by operator; graphs on the CPU are compiled as ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import torch
from torch.utils import _pytree

from devsan.cuda.patches import Patches
from devsan.cuda.refused import refuse
from devsan.errors import tell

NOTE = "torch.compile: inductor has no code for emulated GPUs, graphs on them run eagerly; see docs/limits.md"

_has_noted = False


class AllocatorState:
    """``torch._C._cuda_CUDAAllocator_AllocatorState``: inductor's CUDA graphs import the name."""


def install(patches: Patches) -> None:
    """Makes ``torch.compile`` with its default backend run graphs on emulated GPUs."""
    patches.set(torch._C, "_cuda_CUDAAllocator_AllocatorState", AllocatorState)
    wrapper = torch._TorchCompileInductorWrapper
    compile_graph = wrapper.__call__

    # torch.compile(...) on its way to inductor, before it imports it
    def compile_or_keep(self: Any, graph: Any, inputs: Any, **options: Any) -> Any:
        return _kept(graph) if _uses_gpu(graph, inputs) else compile_graph(self, graph, inputs, **options)

    patches.set(wrapper, "__call__", compile_or_keep)


def change_compile_fx(module: Any, patches: Patches) -> None:
    """Does the same for who calls inductor itself: backend="inductor", ``torch._inductor.compile``, AOTInductor."""
    compile_fx, compile_fx_aot = module.compile_fx, module.compile_fx_aot

    def compile_or_keep(graph: Any, inputs: Any, *args: Any, **options: Any) -> Any:
        return _kept(graph) if _uses_gpu(graph, inputs) else compile_fx(graph, inputs, *args, **options)

    def compile_or_refuse(graph: Any, inputs: Any, *args: Any, **options: Any) -> Any:
        if _uses_gpu(graph, inputs):
            refuse("AOTInductor for GPUs is")
        return compile_fx_aot(graph, inputs, *args, **options)

    patches.set(module, "compile_fx", compile_or_keep)
    patches.set(module, "compile_fx_aot", compile_or_refuse)


def change_cudagraphs(module: Any, patches: Patches) -> None:
    """``torch.compile(backend="cudagraphs")``: torch's own backend would ask for a graph at the third call only."""

    def refused(*args: Any, **options: Any) -> Any:
        refuse("CUDA graphs are")

    patches.set(module, "cudagraphs", refused)


def fuse_on_gpus(allowed: bool) -> bool:
    """Says whether TorchScript may compile parts of a graph for a GPU; otherwise it runs operator by operator.

    Returns what was so before.

    A build of torch with CUDA compiles them with NVRTC, which needs a driver; one without has nothing to compile with
    (canFuseOnGPU of torch/csrc/jit/codegen/fuser/interface.cpp).
    """
    before: bool = torch._C._jit_can_fuse_on_gpu()
    torch._C._jit_override_can_fuse_on_gpu(allowed)
    return before


def change_jit(module: Any, patches: Patches) -> None:
    """Makes the launch of a Triton kernel refuse by name, before Triton looks for a driver.

    Triton's interpreter is another class, and stays.
    """

    def run(self: Any, *args: Any, **options: Any) -> NoReturn:
        refuse(f"the Triton kernel {getattr(self, '__name__', None) or self.fn.__name__!s} is")

    patches.set(module.JITFunction, "run", run)
    if "warmup" in vars(module.JITFunction):
        patches.set(module.JITFunction, "warmup", run)


def _kept(graph: Any) -> Any:
    global _has_noted
    if not _has_noted:
        _has_noted = True
        tell(NOTE)
    return graph


def _uses_gpu(graph: Any, inputs: Any) -> bool:
    return any(_is_gpu(value) for value in _values(graph, inputs))


def _values(graph: Any, inputs: Any) -> Iterator[Any]:
    """Whatever may name a device: the inputs, what the graph holds, its constants, and what dynamo saw at each node."""
    yield from _pytree.tree_leaves(inputs)
    if isinstance(graph, torch.nn.Module):
        yield from graph.parameters()
        yield from graph.buffers()
    if isinstance(graph, torch.fx.GraphModule):
        for node in graph.graph.nodes:
            yield from _pytree.tree_leaves((node.args, node.kwargs))
            yield from _pytree.tree_leaves((node.meta.get("example_value"), node.meta.get("val")))


def _is_gpu(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return bool(value.device.type == "cuda")
    if isinstance(value, torch.device):
        return bool(value.type == "cuda")
    return isinstance(value, str) and value.partition(":")[0] == "cuda"
