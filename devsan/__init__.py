"""DevSan, the device sanitizer for PyTorch.

``import devsan`` is light: it imports neither torch nor anything else before a name here is used. torch imports it in
every program where DevSan is installed (see devsan/autoload.py), hence no ``typing`` either.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from devsan.checks import DeviceMismatch, check, check_tensors_device, expect, findings, where
    from devsan.emulation import Emulation

    __version__: str

__all__ = ["DeviceMismatch", "__version__", "check", "check_tensors_device", "emulate", "expect", "findings", "where"]


def emulate(
    gpus: "int | str | Sequence[str]" = 2,
    profile: "str | None" = None,
    memory: "int | str | Sequence[int | str] | None" = None,
    busy: "int | str | Sequence[int | str] | None" = None,
) -> "Emulation":
    """Returns an emulation of GPUs, to be entered with ``with`` or by ``start()`` and left by ``stop()``.

    torch may have been imported long before. The grammar of texts is that of ``devsan run`` and ``DEVSAN_OPTIONS``.

    Args:
        gpus: how many GPUs (``4``), or which (``"2*a100-80g,l4-24g"``, ``["a100-80g", "l4-24g"]``).
        profile: the model of every GPU that ``gpus`` does not name; a100-80g by default.
        memory: bytes or a text such as ``"24GiB"`` for every GPU, or a sequence with one per GPU.
        busy: memory that other programs hold, given like ``memory``.

    Raises:
        devsan.errors.UsageError: an argument is not understood; the message names the nearest right spelling.
        devsan.errors.StartError: this installation cannot emulate.
    """
    from devsan.options import from_values

    devices = from_values(gpus=gpus, profile=profile, memory=memory, busy=busy).devices()
    from devsan.emulation import Emulation

    return Emulation(devices)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("devsan")
    if name in __all__:
        from devsan import checks

        return getattr(checks, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
