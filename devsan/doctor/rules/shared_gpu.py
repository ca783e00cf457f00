"""DV301: a script that chooses its GPU by --local_rank, which torchrun does not pass."""

from __future__ import annotations

import os
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.case import Case
from devsan.doctor.findings import finding

CODE = own_code(__name__)


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields the argument where every rank gets its default."""
    launch = case.launch
    alone = launch.per_node in (0, 1) or launch.ranks == 1
    if launch.launcher != "torchrun" or alone or "local_rank" in launch.script_options():
        return
    if "torch.distributed.launch" in launch.command and "use_env" not in launch.options:
        return  # the launcher that still passes it
    for script in case.scripts:
        argument = script.local_rank
        if argument is None or os.path.realpath(script.file) != os.path.realpath(launch.script):
            continue
        yield finding(
            CODE, message("--local_rank is {value} in every rank: torchrun does not pass it", value=argument.default),
            argument.place,
            (message("torchrun sets the variable LOCAL_RANK instead, which the script does not read."),
             message("So no rank chooses its own GPU: all of them use the same one.")),
            message("write default={value}", value='int(os.environ.get("LOCAL_RANK", 0))'), severity="error",
            confidence="certain", sites=(argument.use,),
        )  # fmt: skip
