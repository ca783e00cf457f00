"""DV601: links between GPUs over which copies are known to arrive damaged. A note: it cannot be seen, only tried."""

from __future__ import annotations

import re
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message
from devsan.doctor.case import Case
from devsan.doctor.findings import finding

CODE = own_code(__name__)


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields machines whose GPUs copy to one another over the PCI bus through an IOMMU."""
    rows = [row for row in case.facts.driver.topology if re.match(r"\s*GPU\d+\s", row)]
    if (
        not case.facts.iommu
        or len(case.facts.visible) < 2
        or not rows
        or any(re.search(r"\bNV\d+\b", row) for row in rows)
    ):
        return
    if case.facts.variables.get("NCCL_P2P_DISABLE", "0") not in ("", "0"):
        return
    yield finding(
        CODE, message("the IOMMU is enabled and the GPUs have no NVLink"), None,
        (message("On some mainboards, copies between GPUs then silently arrive as zeros."),),
        message("run the test from `devsan explain DV601` once on this "
                "machine"), severity="note", confidence="possible",
        subject="nvidia-smi topo -m", others=(message("export NCCL_P2P_DISABLE=1, which is slower"),),
    )  # fmt: skip
