"""What installed packages define, read from their source: nothing of it is imported."""

from devsan.doctor.installed.packages import Installed

__all__ = ["Installed"]
