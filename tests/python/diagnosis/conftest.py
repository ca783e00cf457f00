"""A program and its report."""

from reports import run

__all__ = ["run"]
