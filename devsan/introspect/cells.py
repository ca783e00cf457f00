"""Cells of a notebook in the core's sentences, which call a place by the last part of its file name: "12345.py:3"."""

from __future__ import annotations

from devsan import core, ipython
from devsan.diagnostics.messages import with_arguments


def with_cells_named(finding: core.Finding) -> core.Finding:
    """Returns ``finding``, whose sentences call cells as IPython does: "Cell In[3]:3"."""
    cells = ipython.cells()
    if not cells:
        return finding

    def named(text: str) -> str:
        file, _, line = text.rpartition(":")
        return f"{cells[file]}:{line}" if file in cells else text

    finding.title = with_arguments(finding.title, named)
    finding.evidence = [with_arguments(each, named) for each in finding.evidence]
    fixes = list(finding.fixes)
    for fix in fixes:
        fix.text = with_arguments(fix.text, named)
    finding.fixes = fixes
    return finding
