"""Which files belong to installed packages, and how they are called there.

NOTE [Linked packages] uv and conda may link the files of a package, or its folder, to a cache: a path in site-packages
that ends elsewhere. The path that Python imported says that it is installed; one that was resolved does not, but in
such a cache too the package lies beside its ``.dist-info``, whose RECORD lists its files (the specification of
installed projects, packaging.python.org). An INSTALLER there says that somebody installed into this very folder, as
``pip install --target`` does: it is looked at as the program's, and not edited. A project of the user's that is linked
into site-packages for its development (flit install --symlink) ends in the folder that the user works in, and has no
RECORD beside it: it stays the user's.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from pathlib import Path

_FOLDERS = ("site-packages", "dist-packages")
_STANDARD = os.path.realpath(sysconfig.get_path("stdlib")) + os.sep


@functools.lru_cache(maxsize=4096)
def installed_as(file: str) -> str:
    """Returns the path of ``file`` below the folder that packages are installed in: "torch/nn/functional.py".

    Returns "" for a file of no installed package, and for "<string>" and its like. Needs no file to be there.
    """
    if file.startswith("<"):
        return ""
    named = _below_folder(file)
    try:
        real = os.path.realpath(file)
        found = _below_folder(real) or _recorded(real)
        is_linked_project = named and not found and real.startswith(os.path.join(os.path.realpath(os.curdir), ""))
    except (OSError, ValueError):  # the working directory is gone; a path with a zero
        return named
    return "" if is_linked_project else named or found


def is_library(file: str) -> bool:
    """Returns whether ``file`` is of an installed package, in any folder, or of Python's standard library."""
    real = os.path.realpath(file)
    return installed_as(file) != "" or real.startswith(_STANDARD) or _recorded(real, in_place=True) != ""


def class_file(kind: type) -> str:
    """Returns the file of the module that a class is from; "" where that has none."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file if isinstance(file, str) else ""


def _below_folder(path: str) -> str:
    parts = path.replace("\\", "/").split("/")
    for place, name in enumerate(parts[:-1]):
        if name in _FOLDERS:
            return "/".join(parts[place + 1 :])
    return ""


def _recorded(path: str, in_place: bool = False) -> str:
    """As ``installed_as``, by the RECORD of a package: one in a cache, with ``in_place`` also one that is installed."""
    for folder in Path(path).parents:
        below = os.path.relpath(path, folder)
        if below.split(os.sep)[0] in _packages_in(str(folder), in_place):
            return below
    return ""


@functools.lru_cache(maxsize=1024)
def _packages_in(folder: str, in_place: bool) -> frozenset[str]:
    """The files and folders in ``folder`` that packages were installed as."""
    found: set[str] = set()
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".dist-info")]
        for name in names:
            if not in_place and Path(folder, name, "INSTALLER").exists():
                continue
            lines = Path(folder, name, "RECORD").read_text(encoding="utf-8", errors="replace").splitlines()
            found |= {line.partition(",")[0].split("/")[0] for line in lines}
    except OSError:  # a folder that cannot be read, no RECORD
        pass
    return frozenset(found)
