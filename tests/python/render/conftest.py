"""Reports, and what they were kept as."""

import sys
from pathlib import Path

from reports import bless, failed, golden, programs, run

__all__ = ["bless", "failed", "golden", "programs", "run"]

sys.path.insert(0, str(Path(__file__).parent))  # for the package `pages`
