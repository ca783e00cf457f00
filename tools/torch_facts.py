"""Print, as JSON, what the build needs to know about the torch that is installed.

Called by CMake (tools/cmake/installed_torch.cmake) with the Python that builds DevSan.
"""

import importlib.util
import json
import os
import site
import sys
import sysconfig
from pathlib import Path


def main() -> int:
    # An isolated build (plain `pip install .`) hides the environment's packages from this Python;
    # the torch there is still the one that DevSan will run with, so it is the one to build for.
    for scheme_path in ("platlib", "purelib"):
        path = sysconfig.get_paths()[scheme_path]
        if path not in sys.path:
            site.addsitedir(path)
    if importlib.util.find_spec("torch") is None:
        print(
            f"DevSan is built for the torch that is installed, but {sys.executable} has none. "
            "Install torch first, then run: pip install --no-build-isolation .",
            file=sys.stderr,
        )
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
