"""What /proc says of a process; nothing on a system without it."""

from __future__ import annotations


def stat_of(pid: int) -> list[str]:
    """Returns the fields of proc_pid_stat(5) from the third one on; none of a process that has gone.

    The second is the process's name, which may hold blanks and parentheses.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].decode("ascii").split()
    except (OSError, ValueError):
        return []
