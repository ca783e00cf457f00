"""Python imports this at its start (the site module's documentation): see NOTE [The overlay] in devsan/overlay."""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _chain() -> None:
    """Runs the sitecustomize that this one stands in front of, if there is one."""
    import importlib.machinery
    import importlib.util

    others = [path for path in sys.path if os.path.abspath(path or os.curdir) != _HERE]
    found = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if found is not None and found.loader is not None:
        module = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)


def _begin() -> None:
    if not os.environ.get("DEVSAN_OVERLAY"):
        return
    try:
        from devsan import overlay
        from devsan.overlay import new_start

        overlay.install()
        new_start.start_anew()
    except Exception as error:
        print(f"devsan: the program runs without the change that was to be tried: {error}", file=sys.stderr)


_begin()
_chain()
