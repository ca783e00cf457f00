"""Print, as JSON, what the build needs to know about the torch that is installed.

Called by CMake (tools/cmake/installed_torch.cmake) with the Python that builds DevSan, before anything is compiled:
what the build would miss later is said here.
"""

import importlib.util
import json
import os
import site
import sys
import sysconfig
from pathlib import Path

BUILD_TOOLS = "scikit-build-core pyyaml cmake ninja"
"""What pip brings to an isolated build: `requires` in pyproject.toml, and what scikit-build-core asks for itself."""


def see_installed_packages() -> None:
    """Puts the packages of the environment at the end of sys.path, where an isolated build (pip install .) hid them.

    pip takes them from sys.path in a sitecustomize.py of its own (pip/_internal/build_env.py), from PYTHONPATH too. The
    torch there is still the one that DevSan will run with, so it is the one to build for.
    """
    for scheme_path in ("platlib", "purelib"):
        path = sysconfig.get_paths()[scheme_path]
        if path not in sys.path:
            site.addsitedir(path)


def what_is_missing() -> str | None:
    """Returns a sentence about what has to be installed before DevSan can be built; None if nothing has."""
    if importlib.util.find_spec("torch") is None:
        return (
            f"DevSan is built for the torch that is installed, but {sys.executable} has none. Install torch there, "
            f"then run: pip install . (a tool that builds in an environment of its own, such as uv, needs "
            f"--no-build-isolation, and {BUILD_TOOLS} beside torch)"
        )
    if importlib.util.find_spec("yaml") is None:
        return (
            f"DevSan's build reads torch's list of operators with PyYAML, but {sys.executable} has none. Run: "
            f"pip install . (it brings what the build needs; with --no-build-isolation, run first: "
            f"pip install {BUILD_TOOLS})"
        )
    return None


def main() -> int:
    """Prints the facts, or says what is missing."""
    see_installed_packages()
    missing = what_is_missing()
    if missing is not None:
        print(missing, file=sys.stderr)
        return 1
    # An earlier DevSan in this environment must not load while it is being rebuilt.
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    import torch

    root = Path(torch.__file__).parent
    facts = {
        "version": str(torch.__version__),
        "git_version": torch.version.git_version or "",
        "root": str(root),
        "site": str(root.parent),
        "cxx11_abi": int(torch.compiled_with_cxx11_abi()),
    }
    print(json.dumps(facts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
