"""``devsan.emulate``: what a program calls to have GPUs emulated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from devsan.errors import UsageError

if TYPE_CHECKING:
    from devsan.emulation import Emulation


def emulate(
    gpus: int | str | Sequence[str] = 2,
    profile: str | None = None,
    memory: int | str | Sequence[int | str] | None = None,
    busy: int | str | Sequence[int | str] | None = None,
    policy: str = "stop",
    history: int | str | None = None,
) -> Emulation:
    """Returns an emulation of GPUs, to be entered with ``with`` or by ``start()`` and left by ``stop()``.

    torch may have been imported long before. The grammar of texts is that of ``devsan run`` and ``DEVSAN_OPTIONS``.

    Args:
        gpus: how many GPUs (``4``), or which (``"2*a100-80g,l4-24g"``, ``["a100-80g", "l4-24g"]``).
        profile: the model of every GPU that ``gpus`` does not name; a100-80g by default.
        memory: bytes or a text such as ``"24GiB"`` for every GPU, or a sequence with one per GPU.
        busy: memory that other programs hold, given like ``memory``.
        policy: what a call on mixed devices does: ``"stop"``, with torch's error; or ``"warn"``: it is reported on
            stderr, its operands meet on one device, and the program goes on. In this thread and its backward passes.
        history: host memory that the records of where tensors were placed may take; 64MiB by default.

    Raises:
        devsan.errors.UsageError: an argument is not understood; the message names the nearest right spelling.
        devsan.errors.StartError: this installation cannot emulate.
    """
    from devsan.options import from_values

    options = from_values(gpus=gpus, profile=profile, memory=memory, busy=busy, policy=policy, history=history)
    devices = options.devices()
    if not devices:
        raise UsageError("GPUs to emulate", "gpus=real", "devsan.install()")
    from devsan.emulation import Emulation

    return Emulation(devices, options.policy, options.history)
