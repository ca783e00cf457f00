"""An error and its report, in this process."""

from reports import gpus, quiet, report_on

__all__ = ["gpus", "quiet", "report_on"]
