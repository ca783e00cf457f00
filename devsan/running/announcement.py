"""What this process says of itself while its GPUs are emulated. Nothing here raises, or says anything.

A JSON object:

  command    the words that started it, as one would type them
  rank       in its launch, null where it is none; ranks that learn their numbers later are in the job's folder
  node       which of the emulated machines it is on
  gpus       of that machine: uuid, name, profile, memory and used_memory (by other programs) in bytes
  visible    which of them it sees, in the order of its own numbers; all of them before it uses one
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from devsan.forks import in_each_child
from devsan.job.numbers import node_in, numbers_here
from devsan.run_files.recording import command
from devsan.running import folder, steps

if TYPE_CHECKING:
    from devsan.profiles import DeviceSpec

_core: ModuleType | None = None
_machine: Sequence[DeviceSpec] = ()
_path = ""  # of this process's files, without their endings


def begin(core: ModuleType, machine: Sequence[DeviceSpec]) -> None:
    """Announces this process, which has not used its GPUs yet.

    Args:
        core: the core, whose devices are there.
        machine: all GPUs of the emulated machine.
    """
    global _core, _machine
    _core, _machine = core, machine
    in_each_child(_be_another)
    atexit.register(_at_exit)
    use(range(len(machine)))


def use(visible: Sequence[int]) -> None:
    """Announces this process anew: it begins to use its GPUs, and may be a fork of the one that began.

    Args:
        visible: which GPUs of the machine it sees, in the order of its own numbers.
    """
    global _path
    core = _core
    if core is None:
        return
    try:
        _withdraw(core)
        _path = os.path.join(folder.make(), folder.stem())
        core.show_memory(_path + folder.GAUGES)
        steps.begin(core, _path + folder.PROGRESS)
        _write(_path + folder.ANNOUNCEMENT, visible)
    except Exception:  # no such folder, a full disk: the program runs without being seen
        _leave(core)


def end() -> None:
    """The emulation ends, or the process."""
    global _core
    core, _core = _core, None
    if core is None:
        return
    steps.end()
    atexit.unregister(_at_exit)
    _leave(core)


def _at_exit() -> None:
    """In a job the process is seen until its report is made: the files go with the job's folder, and meanwhile that the
    process has ended tells as much."""
    if not folder.is_of_a_job(os.path.dirname(_path)):
        end()


def _leave(core: ModuleType) -> None:
    place = os.path.dirname(_path)
    _withdraw(core)
    folder.leave(place)


def _withdraw(core: ModuleType) -> None:
    global _path
    path, _path = _path, ""
    if not path:
        return
    with contextlib.suppress(Exception):
        core.show_memory("")
    steps.hide()
    for ending in (folder.ANNOUNCEMENT, folder.GAUGES, folder.PROGRESS):
        with contextlib.suppress(OSError):
            os.unlink(path + ending)


def _write(path: str, visible: Sequence[int]) -> None:
    numbers = numbers_here()
    text = json.dumps({
        "command": command(), "rank": None if numbers is None else numbers.rank, "node": node_in(os.environ),
        "visible": list(visible),
        "gpus": [{"uuid": gpu.uuid, "name": gpu.name, "profile": gpu.profile, "memory": gpu.total_memory,
                  "used_memory": gpu.used_memory} for gpu in _machine],
    })  # fmt: skip
    with open(path, "w", encoding="ascii") as file:
        file.write(text)  # whoever looks meanwhile finds no JSON, and the process when they look again


def _be_another() -> None:
    """A forked child shows nothing in the file of its parent; should it use a GPU, it announces itself."""
    global _path
    if _path and _core is not None:
        _path = ""
        steps.hide()
        with contextlib.suppress(Exception):
            _core.show_memory("")
