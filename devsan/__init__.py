"""DevSan, the device sanitizer for PyTorch.

``import devsan`` is light: it imports neither torch nor anything else before a name here is used. torch imports it in
every program where DevSan is installed (see devsan/autoload.py), hence no ``typing`` either.

PYTEST_DONT_REWRITE: under ``devsan run`` it is there before pytest, which would warn that its asserts stay as they are.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from devsan import doctor as doctor
    from devsan.checks import DeviceMismatch, check, check_tensors_device, expect, findings, where
    from devsan.emulation import emulate
    from devsan.post_mortem import explain, install, uninstall

    __version__: str

__all__ = ["DeviceMismatch", "__version__", "check", "check_tensors_device", "doctor", "emulate", "expect", "explain",
           "findings", "install", "uninstall", "where"]  # fmt: skip
_POST_MORTEM = ("explain", "install", "uninstall")


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        from importlib.metadata import version

        return version("devsan")
    from importlib import import_module

    if name == "doctor":
        return import_module("devsan.doctor")  # a package that is called: NOTE [A module that is called]
    home = "emulation" if name == "emulate" else "post_mortem" if name in _POST_MORTEM else "checks"
    return getattr(import_module(f"devsan.{home}"), name)


def load_ipython_extension(shell: object) -> None:
    """``%load_ext devsan`` is ``devsan.install()``, and adds ``%devsan`` (devsan/notebook.py)."""
    __getattr__("install")()  # type: ignore[operator]
    _notebook().load(shell)


def unload_ipython_extension(shell: object) -> None:
    """``%unload_ext devsan`` is ``devsan.uninstall()``, and ends what ``%devsan`` began."""
    _notebook().unload(shell)
    __getattr__("uninstall")()  # type: ignore[operator]


def _notebook() -> "Any":
    from importlib import import_module

    return import_module("devsan.notebook")
