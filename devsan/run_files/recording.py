"""The run file of this process: begun with the emulation where an output was asked for, ended with the process.

A failure of DevSan's own is told in one line and ends the recording, never the program.
"""

from __future__ import annotations

import atexit
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from devsan import core
from devsan.errors import one_line, tell
from devsan.forks import in_each_child
from devsan.run_files import run_file, tally

if TYPE_CHECKING:
    from devsan.diagnostics.diagnostic import Diagnostic
    from devsan.introspect.explain import Explanation
    from devsan.profiles import DeviceSpec
    from devsan.run_files.writer import RunWriter

_MOST_MODELS = 4
_MOST_MODULES = 50_000

_writer: RunWriter | None = None
_pattern = ""
_last_path = ""
_on_file: Callable[[], None] | None = None
_told: Callable[[str], None] | None = None
_known: set[str] = set()  # ids of findings whose models are written
_exit_code: int | None = None
_ended_by: BaseException | None = None


def launch() -> None:
    """Says to the children when they were launched. See NOTE [Whose run file] in ``run_file``."""
    os.environ.setdefault(run_file.LAUNCH, repr(time.time()))


def begin(
    pattern: str,
    devices: Sequence[DeviceSpec],
    on_file: Callable[[], None] | None = None,
    told: Callable[[str], None] | None = None,
    force: bool = False,
) -> None:
    """Begins to record, or goes on where the same file was begun before. Never raises.

    Args:
        pattern: the name of the run file; "" for none.
        devices: the emulated GPUs; none on real ones.
        on_file: called once the run file has its name.
        told: called with its path at the end; None where it is for a report that is made of it, and for nobody.
        force: replace the file of an earlier launch.
    """
    global _writer, _pattern, _on_file, _told
    if not pattern:
        return
    try:
        if _writer is not None:
            if _pattern != pattern:
                tell(f"the run is recorded in {_pattern} already, and not in {pattern}")
            elif devices:
                core.start_timeline()
            return
        launched = run_file.launch_time(os.environ)
        helps = launched is not None and (not os.environ.get("RANK") or _is_worker())
        lazily = not devices or helps  # on real GPUs torch, which the first line names, is not there yet
        launch()
        from devsan.run_files.writer import RunWriter

        _pattern, _on_file, _told = pattern, on_file, told
        _writer = RunWriter(
            bool(devices),
            pattern,
            launched or time.time(),
            _process,
            lambda: gpus_of(devices),
            lazily,
            _has_a_name,
            told is None and not helps,
            force,
        )
        _has_a_name()
        in_each_child(_forget)
        atexit.register(finish)
    except Exception as error:
        tell(f"the run is not recorded: {one_line(error)}")


def pause() -> None:
    """The emulation ends, and may come back."""
    if _writer is not None:
        _writer.fetch()


def last_path() -> str:
    """Returns the name of the run file that this process writes or has written; "" where there is none."""
    return _last_path if _writer is None else _writer.path or ""


def is_on() -> bool:
    """Returns whether this process writes a run file."""
    return _writer is not None


def add_finding(report: Diagnostic, explanation: Explanation | None) -> None:
    """Counts what was found at one failure, and writes it with the models as they were. Never raises."""
    tally.add(report.severity, report.code)
    writer = _writer
    if writer is None:
        return
    try:
        from devsan.run_files.document import findings_of
        from devsan.run_files.records import model_of

        writer.fetch()
        found = findings_of(report, explanation, writer.seconds)
        for finding in found:
            writer.write("finding", finding=finding)
        first = str(found[0]["id"])
        if explanation is not None and first not in _known:
            _known.add(first)
            models = [{"finding": first, **model_of(model)} for model in explanation.facts.models]
            if models:
                writer.write("models", models=models)
    except Exception as error:
        tell(f"a finding is missing from the run file: {type(error).__name__}: {one_line(error)}")


def ended(code: int | None, error: BaseException | None = None) -> None:
    """Remembers how the program ended: its exit code, and the exception that did it."""
    global _exit_code, _ended_by
    _exit_code, _ended_by = code, error


def exit_code() -> int | None:
    """Returns the exit code of the program; None while it runs."""
    return _exit_code


def _has_a_name() -> None:
    if _on_file is not None and last_path():  # not while the writer is being made
        _on_file()


def finish() -> None:
    """Ends the run file of this process: what is recorded next begins another one. Never raises."""
    global _writer, _last_path
    writer, _writer = _writer, None
    if writer is None:
        return
    try:
        writer.finish(lambda: _end(writer.seconds), _models_at_the_end)
    except BaseException as error:  # also a Ctrl-C: the program has ended already
        tell(f"the end of the run is missing from the run file: {type(error).__name__}: {error}")
    _last_path = writer.path or ""
    if writer.path is not None and _told is not None and not os.environ.get("RANK"):
        _told(writer.path)


def _end(seconds: float) -> dict[str, Any]:
    error = _ended_by
    if error is None:
        error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    code = _exit_code if _exit_code is not None or error is None else 1
    how = "finished"
    if isinstance(error, KeyboardInterrupt):
        how = "interrupted"
    elif error is not None and not isinstance(error, SystemExit):
        how = "out_of_memory" if type(error).__name__ == "OutOfMemoryError" else "exception"
    told = None
    if how != "finished":
        told = {"type": type(error).__qualname__, "message": _text(error)}
    return {"time": seconds, "how": how, "exit_code": code, "exception": told}


def _text(error: BaseException | None) -> str:
    try:
        return str(error)[:20_000]
    except Exception:  # its own __str__
        return ""


def _models_at_the_end() -> list[dict[str, Any]]:
    """The models that are alive when nothing was found: where the program has put its weights."""
    if _known:
        return []
    try:
        from devsan.introspect.frames.tensors import plain_attributes
        from devsan.introspect.models.heap import live_models
        from devsan.introspect.provenance.placed import model_of
        from devsan.introspect.provenance.reader import ProvenanceReader
        from devsan.run_files import records

        with plain_attributes():
            reader = ProvenanceReader()
            trees = [tree for tree in live_models() if len(tree.modules) <= _MOST_MODULES]
            largest = sorted(trees, key=lambda tree: -len(tree.modules))[:_MOST_MODELS]
            return [{"finding": "", **records.model_of(model_of(tree, reader))} for tree in largest]
    except Exception:  # the run is worth having without them
        return []


def _process() -> dict[str, Any]:
    import devsan
    from devsan.introspect.process_info import launch_number

    torch = sys.modules.get("torch")

    try:
        version = devsan.__version__
    except Exception:  # a copy that is only on the path
        version = ""
    return {
        "command": command(), "directory": os.getcwd(), "pid": os.getpid(), "rank": launch_number("RANK") or 0,
        "local_rank": launch_number("LOCAL_RANK") or 0, "world_size": launch_number("WORLD_SIZE") or 1,
        "devsan": version, "python": platform.python_version(), "torch": str(getattr(torch, "__version__", "")),
        "platform": platform.platform(),
    }  # fmt: skip


def _is_worker() -> bool:
    """Whether multiprocessing has started this process: it has its parent's RANK."""
    multiprocessing = sys.modules.get("multiprocessing")
    return multiprocessing is not None and multiprocessing.parent_process() is not None


def command() -> list[str]:
    """The words as one would type them: devsan run ...; where the environment started the emulation, python ... or an
    installed script by its name (torchrun ...)."""
    words = [str(word) for word in getattr(sys, "orig_argv", ["python", *sys.argv])]
    for place, word in enumerate(words[1:], start=1):
        if os.path.basename(word) in ("devsan", "__main__.py") and words[place + 1 : place + 2] == ["run"]:
            return ["devsan", *words[place + 1 :]]
        if not word.startswith("-"):  # the program's own words begin
            if place == 1 and os.path.dirname(word) == os.path.dirname(sys.executable):
                return [os.path.basename(word), *words[2:]]
            break
    return ["python", *words[1:]]


def gpus_of(devices: Sequence[DeviceSpec]) -> list[dict[str, Any]]:
    """Returns the GPUs that the program sees, under its numbers for them, as run files have them."""
    if not devices:
        return _real_gpus()
    from devsan.cuda.visible_devices import VARIABLE, visible_devices

    visible = visible_devices(os.environ.get(VARIABLE), [f"GPU-{device.uuid}" for device in devices])
    return [
        {"device": f"cuda:{index}", "name": devices[number].name, "profile": devices[number].profile,
         "memory": devices[number].total_memory, "used_memory": devices[number].used_memory}
        for index, number in enumerate(visible)
    ]  # fmt: skip


def _real_gpus() -> list[dict[str, Any]]:
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():  # asking would initialize it
        return []
    found = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
    return [
        {
            "device": f"cuda:{index}",
            "name": str(each.name),
            "profile": "",
            "memory": int(each.total_memory),
            "used_memory": 0,
        }
        for index, each in enumerate(found)
    ]


def _forget() -> None:
    """A forked child is not recorded: its memory of GPUs is a copy of the parent's, of which nothing works."""
    global _writer
    writer, _writer = _writer, None
    if writer is not None:
        writer.forget()
        atexit.unregister(finish)
