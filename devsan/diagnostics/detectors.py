"""Detectors are found by their names: a file, or a folder of files, that is named as a code detects it.

``rules/kv_cache.py`` and ``rules/current_device/wrong_gpu.py`` are detectors of kv-cache and current-device. Each has
one public function, ``check``. core/diagnose keeps the same names in ``causes`` and ``rank_causes``.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from devsan.diagnostics.codes import all_codes


def own_code(module: str) -> str:
    """Returns the code that the detector in ``module`` is for.

    Raises:
        LookupError: neither the file nor a folder around it is named as a code.
    """
    numbers = {code.name.replace("-", "_"): code.code for code in all_codes().values()}
    for part in reversed(module.split(".")):
        if part in numbers:
            return numbers[part]
    raise LookupError(f"expected {module} to be named as a code, or to lie in a folder that is")


def checks_in(package: str, path: Iterable[str]) -> tuple[Callable[..., Any], ...]:
    """Returns ``check`` of each detector below ``package``, in the order of the codes.

    Args:
        package: its name, ``__name__`` of its ``__init__``.
        path: its folders, ``__path__``.
    """
    found = []
    for each in pkgutil.walk_packages(path, f"{package}."):
        check = None if each.ispkg else getattr(import_module(each.name), "check", None)
        if check is not None:
            found.append((own_code(each.name), each.name, check))
    return tuple(check for _, _, check in sorted(found, key=lambda each: each[:2]))
