"""DV450: CUDA_VISIBLE_DEVICES is set after CUDA has read it.

What it does
    Finds `os.environ["CUDA_VISIBLE_DEVICES"] = ...` (also `setdefault`, `update`, `putenv`) after a use of CUDA: a
    tensor or model on a GPU, `torch.cuda.is_available()`, or a device map.

Why is this bad
    The driver reads the variable when a process first uses CUDA. A later change has no effect: without a warning,
    the program runs on other GPUs than it selects.

Example
    device = "cuda" if torch.cuda.is_available() else "cpu"
    os.environ["CUDA_VISIBLE_DEVICES"] = "1"

Use instead
    os.environ["CUDA_VISIBLE_DEVICES"] = "1"
    device = "cuda" if torch.cuda.is_available() else "cpu"

Fix safety
    Not edited: the best place is the command line, or the first lines of the program.
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.findings import finding
from devsan.doctor.source.events import HidesGpus
from devsan.doctor.source.program import Program
from devsan.doctor.source.rules.predicates import first_of_each, line_of

CODE = own_code(__name__)


def check(program: Program, edits: bool = True) -> Iterator[Diagnostic]:
    """Yields a finding for each assignment."""
    late = [event for event in program.events if isinstance(event, HidesGpus) and event.used is not None]
    for first, _ in first_of_each((event.node, event) for event in late):
        assert isinstance(first, HidesGpus) and first.used is not None
        source = program.source
        yield finding(
            CODE,
            message("CUDA_VISIBLE_DEVICES is set after CUDA was used and has no effect"),
            source.place(first.node),
            (message("`{call}`, line {line}, already used CUDA",
                     call=source.shown(first.used), line=line_of(first.used)),
             message("the driver reads the variable once, when the process first uses CUDA")),
            message("set it earlier: in the shell that starts the program, or before the first use of CUDA"),
            severity="error",
            sites=(source.place(first.used),),
        )  # fmt: skip
