"""What the runs of ``devsan fix`` and ``devsan plan`` are known by, in every process of theirs."""

from __future__ import annotations

EXPERIMENT = "DEVSAN_FIX_RUN"
"""Set in the processes of an experiment, which are found by it; its value is the folder of the run."""
