"""A sample of ranks (``--ranks``): of a launch that is too large for this machine a few ranks run.

  launcher        starts them: torch.distributed's launcher, which torchrun and accelerate launch call
  process_groups  in each: groups that wait for nobody who does not run
  objects         collectives of objects, whose sizes nobody knows who does not run

What stands in for the others, NOTE [A sample of ranks] in core/collectives/attendance.h says.
"""

from __future__ import annotations

import os

from devsan import _core, sample_of_ranks
from devsan.cuda.imports import AfterImport
from devsan.cuda.patches import Patches
from devsan.options import Options
from devsan.sample import launcher, objects, process_groups

_patches = Patches()
_imports: AfterImport | None = None


def begin(options: Options) -> None:
    """Makes this process a rank of the sample that its launcher chose, or has it choose one where it launches ranks."""
    global _imports
    sample = sample_of_ranks.from_text(os.environ.get(sample_of_ranks.VARIABLE, ""))
    if sample is None:
        _imports = launcher.begin(options.ranks, _patches)
    elif hasattr(_core, "SampledGloo"):  # a torch that was built with torch.distributed
        _core.set_sample(list(sample.ranks), sample.world_size)
        process_groups.begin(sample, _patches)
        objects.begin(sample, _patches)


def end() -> None:
    """Puts everything back. A second call does nothing."""
    global _imports
    if _imports is not None:
        _imports.remove()
        _imports = None
    _patches.undo()
    _core.set_sample([], 0)
