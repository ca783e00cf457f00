"""Full size: large tensors have shapes, devices and memory, and no numbers.

Which tensors those are, the core decides: NOTE [Tensors without numbers] in
core/emulate/runtime/full_size/unknown.h. Here is what Python's world needs beside that: ``reads`` tells who reads what
was never computed, ``weights`` are those that are not there, as ``policy`` says, ``cut_off`` tells of half
ones, ``saves`` leaves out files of what has no numbers,
``host_kernels`` leaves out what computes behind torch's back.
"""

from __future__ import annotations

from functools import partial

from devsan import _core
from devsan.cuda.imports import AfterImport
from devsan.cuda.patches import Patches
from devsan.full_size import (
    cut_off,
    diffusers_weights,
    host_kernels,
    policy,
    reads,
    saves,
    transformers_weights,
    weights,
)
from devsan.options import Options

_patches = Patches()
_imports = AfterImport(
    {
        **{name: lambda module: host_kernels.leave_out(module, _patches) for name in host_kernels.BUILDERS},
        **{name: lambda module: saves.leave_out_in_lightning(module, _patches) for name in saves.LIGHTNING},
        cut_off.MODULE: lambda module: cut_off.explain(module, _patches),
        saves.SAFETENSORS: lambda module: saves.leave_out_in_safetensors(module, _patches),
    }
)
_weights = AfterImport(
    {
        **{name: partial(provide, patches=_patches) for name, provide in weights.PROVIDERS.items()},
        **{each.MODULE: partial(each.provide, patches=_patches) for each in (diffusers_weights, transformers_weights)},
    }
)


def begin(options: Options) -> None:
    """Has large tensors made without numbers from now on. Needs a running emulation."""
    _core.start_full_size(options.real_below)
    reads.begin(not options.is_reported, _patches)
    saves.leave_out(_patches)
    _imports.install()
    policy.choose(options.weights)
    if options.weights != "real":
        _weights.install()


def end() -> None:
    """Has new tensors made with numbers again. Those that are left stay as they are. A second call does nothing."""
    _core.stop_full_size()
    reads.end()
    _imports.remove()
    _weights.remove()
    _patches.undo()
