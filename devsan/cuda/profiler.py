"""``torch.profiler`` with ``ProfilerActivity.CUDA``: times of operators on the host stand for those of their kernels.

core/emulate/runtime/timers answers for the events on which torch's own fallback without CUPTI rests.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.autograd.profiler
import torch.profiler

from devsan.cuda.patches import Patches


def install(patches: Patches) -> None:
    """Makes torch say that it can profile CUDA, and its profiler take the way that needs no CUPTI."""
    supported = torch.autograd.profiler._supported_activities
    cuda = torch.profiler.ProfilerActivity.CUDA
    patches.set(torch.autograd, "_supported_activities", lambda: supported() | {cuda})
    patches.set(torch.autograd.profiler, "_supported_activities", lambda: supported() - {cuda})
    profile = torch.autograd.profiler.profile
    begin = profile.__init__

    def begin_on_host(self: Any, *args: Any, **options: Any) -> None:
        # That way measures a kernel at the operator that starts it, so that operators are needed even for CUDA alone.
        if options.get("use_device") == "cuda":
            options["use_cpu"] = True
        begin(self, *args, **options)

    patches.set(profile, "__init__", begin_on_host)
