"""The folder of the job as an experiment finds it: everything is there, and what it writes is thrown away.

NOTE [Writes of an experiment] The job runs many times, and each run may write checkpoints, logs and caches where the
user has those of the real job. So an experiment sees its folder through an overlay of the file system: it reads what is
there, and its writes go to a scratch folder. That takes a user and a mount namespace of the process's own
(user_namespaces(7), mount_namespaces(7)) and overlayfs within them, which Linux allows since 5.11, though not every
container does. Where it is not allowed the experiment runs in the folder itself.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000  # linux/sched.h
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000  # linux/mount.h


def enter(folder: str, scratch: str) -> bool:
    """Has this process, and its children, write to ``scratch`` what they write below ``folder``.

    The process must have one thread and stand wherever it likes: it changes to ``folder``.

    Args:
        folder: an absolute path.
        scratch: a folder to be made, outside of ``folder``, on a file system that overlayfs can write to.

    Returns:
        Whether the system allows it; nothing has changed for the process's files where it does not.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    upper, work = Path(scratch, "upper"), Path(scratch, "work")
    if any(letter in folder + scratch for letter in ",:\\"):  # what separates overlayfs's options
        return False
    if Path(scratch).resolve().is_relative_to(Path(folder).resolve()):  # what the experiment leaves would be hidden
        return False
    upper.mkdir(parents=True)
    work.mkdir()
    own = _CLONE_NEWNS if user == 0 else _CLONE_NEWNS | _CLONE_NEWUSER
    if libc.unshare(own) != 0 and (own == _CLONE_NEWNS | _CLONE_NEWUSER or libc.unshare(own | _CLONE_NEWUSER) != 0):
        return False
    try:
        if user != 0:
            Path("/proc/self/setgroups").write_text("deny", encoding="ascii")  # user_namespaces(7): before gid_map
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    except OSError:
        return False
    if libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None) != 0:
        return False
    options = f"lowerdir={folder},upperdir={upper},workdir={work}"
    for more in (",userxattr", ""):
        if libc.mount(b"overlay", os.fsencode(folder), b"overlay", 0, os.fsencode(options + more)) == 0:
            os.chdir(folder)
            return True
    return False


def end_with_parent() -> None:
    """Has this process killed where the one that started it ends: nobody else would stop it at its limits."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    """Runs a command as an experiment finds its folder: ``python -m devsan.fix.scratch FOLDER SCRATCH command ...``."""
    folder, scratch, *words = sys.argv[1:]
    end_with_parent()
    if not enter(folder, scratch):
        os.chdir(folder)
    os.execv(words[0], words)


if __name__ == "__main__":
    main()
