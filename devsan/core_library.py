"""The core's library, ``devsan._core``, where it was built for the torch that is here.

It is linked against one build of torch. Beside another it would end in an undefined symbol, or worse.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType

import devsan
from devsan.errors import StartError

BUILD_STAMP = "_build.json"
REBUILD = "build DevSan again beside this torch: in its source folder, pip install --force-reinstall --no-deps ."
_AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"


def _stamp() -> dict[str, str] | None:
    """What the core was built for. A developer's install has two folders: the source, and what was built."""
    found = [path for folder in devsan.__path__ if (path := Path(folder, BUILD_STAMP)).is_file()]
    stamp: dict[str, str] | None = json.loads(found[0].read_text(encoding="utf-8")) if found else None
    return stamp


def load_core(torch: ModuleType) -> ModuleType:
    """Imports devsan._core, after a look at what it was built for: a wrong one would end in an undefined symbol."""
    stamp = _stamp()
    if stamp is None:
        raise StartError(f"expected DevSan's core in {devsan.__path__[0]}, got none; {REBUILD}")
    expected = f"torch {stamp['torch_version']} (git {stamp['torch_git_version'][:12]})"
    got = f"torch {torch.__version__} (git {str(torch.version.git_version)[:12]})"
    if expected != got:
        raise StartError(f"expected {expected}, for which DevSan was built, got {got}; {REBUILD}")
    try:
        from devsan import _core
    except ImportError as error:
        raise StartError(f"expected DevSan's core to load with {got}, got {brief(error)}; {REBUILD}") from error
    return _core


def release() -> str:
    """Returns DevSan's own version and what its core was built for, as ``devsan --version`` prints them."""
    try:
        version = devsan.__version__
    except ImportError:  # a copy that is only on the path
        version = "(not installed)"
    stamp = _stamp()
    if stamp is None:
        return f"{version} (no core)"
    return f"{version} (core for torch {stamp['torch_version']}, {stamp['python']}, {stamp['compiler']})"


def core_here() -> ModuleType | None:
    """Returns ``devsan._core`` if it is there for the torch that is loaded; None otherwise. Does not import torch."""
    loaded = sys.modules.get("devsan._core")
    torch = sys.modules.get("torch")
    if loaded is not None or torch is None:
        return loaded
    try:
        return load_core(torch)
    except Exception:  # none was built for this torch; the failure itself must still be told
        return None


def core_with_torch() -> ModuleType | None:
    """Returns ``devsan._core``. Imports torch for it, without starting an emulation, where the launcher has not."""
    if "torch" not in sys.modules:
        before = os.environ.get(_AUTOLOAD)
        os.environ[_AUTOLOAD] = "0"
        try:
            import torch  # noqa: F401
        except Exception:
            return None
        finally:
            if before is None:
                os.environ.pop(_AUTOLOAD, None)
            else:
                os.environ[_AUTOLOAD] = before
    return core_here()


def brief(error: BaseException) -> str:
    """Returns an error in one line: its type, and the first line of its text."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"
