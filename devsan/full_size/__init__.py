"""Full size: large tensors have shapes, devices and memory, and no numbers.

Which tensors those are, the core decides: NOTE [Tensors without numbers] in
core/emulate/runtime/full_size/unknown.h. Here is what Python's world needs beside that: ``reads`` tells who reads what
was never computed, ``weights`` are those that are not there, ``saves`` leaves out files of what has no numbers,
``host_kernels`` leaves out what computes behind torch's back.
"""

from __future__ import annotations

from devsan import _core
from devsan.cuda.imports import AfterImport
from devsan.cuda.patches import Patches
from devsan.full_size import host_kernels, reads, saves, weights
from devsan.options import Options

_patches = Patches()
_imports = AfterImport(
    {
        **{name: lambda module: host_kernels.leave_out(module, _patches) for name in host_kernels.BUILDERS},
        weights.MODULE: lambda module: weights.provide(module, _patches),
        saves.SAFETENSORS: lambda module: saves.leave_out_in_safetensors(module, _patches),
    }
)


def begin(options: Options) -> None:
    """Has large tensors made without numbers from now on. Needs a running emulation."""
    _core.start_full_size(options.real_below)
    reads.begin(not options.is_reported, _patches)
    saves.leave_out(_patches)
    _imports.install()


def end() -> None:
    """Has new tensors made with numbers again. Those that are left stay as they are. A second call does nothing."""
    _core.stop_full_size()
    reads.end()
    _imports.remove()
    _patches.undo()
