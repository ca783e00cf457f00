"""Recorded runs."""

from reports import failed, programs

__all__ = ["failed", "programs"]
