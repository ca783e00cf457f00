"""Files of safetensors that are shorter than their header says: one line before the library's own error says so.

A download that was broken off, and a file that Git LFS left in its own place, are usual where a job is only rehearsed.
"""

from __future__ import annotations

import functools
import os
from typing import Any

from devsan.cuda.patches import Patches
from devsan.cuda.rebinding import rebind
from devsan.diagnostics.messages import Message, message
from devsan.full_size.hollow import read_header
from devsan.render.amounts import plain_amount
from devsan.render.notice import notice

MODULE = "safetensors"

_POINTER = b"version https://git-lfs"  # how a file that stands for another begins, https://git-lfs.com/spec/v1


def explain(module: Any, patches: Patches) -> None:
    """Has ``safe_open``, by which all libraries read these files, tell of one that it refuses; ``patches`` undo it."""
    opening = module.safe_open

    @functools.wraps(opening, updated=())
    def opened(filename: Any, *args: Any, **words: Any) -> Any:
        try:
            return opening(filename, *args, **words)
        except module.SafetensorError:
            if told := _what_is_wrong(filename):
                notice(told)
            raise

    patches.set(module, "safe_open", opened)
    rebind(patches, {id(opening): opened})


def _what_is_wrong(file: Any) -> Message | None:
    try:
        with open(file, "rb") as opened:
            if opened.read(len(_POINTER)) == _POINTER:
                return message("{path} stands for a file that Git LFS has not fetched; --weights none needs no weights",
                               path=os.fspath(file))  # fmt: skip
        expected, found = read_header(file)[1], os.stat(file).st_size
    except Exception:  # whatever is wrong with it, the library says so itself
        return None
    if found >= expected:
        return None
    return message("{path} is cut off: {expected} by its header, {found} here; --weights index takes its header alone",
                   path=os.fspath(file), expected=plain_amount(expected), found=plain_amount(found))  # fmt: skip
