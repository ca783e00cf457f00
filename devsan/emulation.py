"""The emulation of GPUs in this process: started, stopped, and refused in one sentence where it cannot be."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Sequence
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, TypeGuard

from devsan import active_options, excepthook, sample_of_ranks
from devsan.core_library import REBUILD, brief, load_core
from devsan.errors import StartError, UsageError, tell
from devsan.experiments import EXPERIMENT
from devsan.job import member
from devsan.job.folder import memory_file
from devsan.job.numbers import node_in
from devsan.options import BLOCKS, Options, from_values
from devsan.profiles import DeviceSpec
from devsan.run_files import recording, run_file, tally
from devsan.running import announcement

if TYPE_CHECKING:
    from devsan.cuda.surface import Surface

_running: Emulation | None = None


class Emulation:
    """Emulated GPUs, from the dispatcher up to ``torch.cuda``, between `start` and `stop`.

    Args:
        options: what to emulate. ``CUDA_VISIBLE_DEVICES`` chooses among its GPUs as CUDA does.

    Raises:
        UsageError: the options contradict each other.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.devices = options.devices()
        self._core: Any = None
        self._surface: Surface | None = None
        self._parts: list[ModuleType] = []

    def start(self) -> Emulation:
        """Starts emulating. Imports torch.

        Raises:
            StartError: DevSan was not built for this torch, or CUDA is already in use here, or GPUs are already
                emulated; everything is as it was before.
        """
        global _running
        import torch  # which may start an emulation itself: devsan.autoload

        if _running is not None:
            raise StartError(
                f"expected no emulation in this process, got one of {len(_running.devices)} GPUs that is running, of "
                "devsan run, DEVSAN_OPTIONS or an earlier devsan.emulate: leave out one of them, or call its stop()"
            )
        core = load_core(torch)
        if torch.cuda.is_initialized():
            raise StartError(
                "expected a process that has not used its GPUs yet, got CUDA already initialized; "
                "start the emulation before the first use of torch.cuda"
            )
        _start_core(core, self.devices, self.options.history)
        from devsan.cuda.surface import Surface  # imports torch and the core, which are there now

        self._core = core
        self._surface = Surface()
        try:
            # Lightning's first process is a rank while its group is there: Lightning sets the variables that say so,
            # and removes them at its end.
            self._surface.install(self.devices, on_use=announcement.use, on_group=member.begin_rank)
        except Exception as error:
            self.stop()
            raise StartError(f"expected torch {torch.__version__} as DevSan knows it, got {brief(error)}") from error
        _running = self
        announcement.begin(core, self.devices)
        for part in _parts(self.options):
            part.begin(self.options)
            self._parts.append(part)
        _settle_at_exit(core)
        return self

    def stop(self) -> None:
        """Undoes `start`. Emulated tensors that are left stay valid. A second call does nothing."""
        global _running
        if self._surface is None:
            return
        while self._parts:
            self._parts.pop().end()
        announcement.end()
        self._surface.remove()
        self._surface = None
        self._core.stop_recording()
        self._core.stop()
        self._core.leave_driver()
        self._core.require_lazy_init()
        if _running is self:
            _running = None

    def __enter__(self) -> Emulation:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class ReportingEmulation(Emulation):
    """An emulation that reports by itself, because nobody does around it: no ``devsan run``, no ``DEVSAN_OPTIONS``.

    The report is made where Python shows the exception, which is behind the ``with`` block. So the hook stays when an
    exception leaves the block, until the next emulation ends without one.

    Under ``devsan run`` or ``devsan fix`` of such a program, or with ``DEVSAN_OPTIONS``, the GPUs are there already: it
    joins them, and what has started them reports.
    """

    _has_joined = False

    def start(self) -> Emulation:
        """Starts emulating, as `Emulation.start` does, and has uncaught device errors reported."""
        import torch  # noqa: F401  # which may start an emulation itself: devsan.autoload

        self._has_joined = _is_of_session(_running) and _has_room(_running.devices, self.devices)
        if self._has_joined:
            ignored = [name for name in _OWN if getattr(self.options, name) != getattr(Options(), name)]
            if ignored and EXPERIMENT not in os.environ:
                tell(f"devsan.emulate joins the GPUs that are emulated already; not used: {', '.join(ignored)}")
            return self
        if self.options.output and not recording.is_on():
            run_file.check(self.options, "force=True")
        super().start()
        if self.options.output:
            member.join(self.options)
            member.record(self.options, self.devices)
        active_options.report_as(self.options.format)
        if self.options.is_reported or self.options.output:
            excepthook.install(ReportingEmulation)
        return self

    def stop(self) -> None:
        """Undoes `start`. Emulated tensors that are left stay valid. A second call does nothing."""
        self._stop_emulating()
        excepthook.uninstall(ReportingEmulation)

    def _stop_emulating(self) -> None:
        if self._has_joined:
            return
        if self.options.output:
            recording.pause()
        super().stop()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.stop()
        else:
            self._stop_emulating()


_OWN = ("output", "policy", "check", "full_size", "weights")  # options that change what a program does, or leaves


def _is_of_session(emulation: Emulation | None) -> TypeGuard[Emulation]:
    """Whether ``devsan run``, ``DEVSAN_OPTIONS`` or a notebook has started it for the whole process."""
    return emulation is not None and not isinstance(emulation, ReportingEmulation)


def _has_room(running: Sequence[DeviceSpec], wanted: Sequence[DeviceSpec]) -> bool:
    """Whether the GPUs are those that are there; the experiments of a fix may have others, as many."""
    return running == wanted or (EXPERIMENT in os.environ and len(wanted) <= len(running))


def emulate(
    gpus: int | str | Sequence[str] = 2,
    profile: str | None = None,
    memory: int | str | Sequence[int | str] | None = None,
    used_memory: int | str | Sequence[int | str] | None = None,
    policy: str = "stop",
    history: int | str | None = None,
    check: str | Sequence[str] | None = None,
    full_size: bool = False,
    real_below: int | str | None = None,
    weights: str | None = None,
    format: str = "terminal",
    output: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> Emulation:
    """Returns an emulation of GPUs, to be entered with ``with`` or by ``start()`` and left by ``stop()``.

    Under ``devsan run``, ``devsan fix`` and ``DEVSAN_OPTIONS`` with the same GPUs it is theirs, and their options
    count, in the same grammar. torch may have been imported long before.

    Args:
        gpus: how many GPUs (``4``), or which (``"2*a100-80g,l4-24g"``, ``["a100-80g", "l4-24g"]``).
        profile: the model of every GPU that ``gpus`` does not name; a100-80g by default.
        memory: bytes or a text such as ``"24GiB"`` for every GPU, or a sequence with one per GPU.
        used_memory: memory that other programs use, given like ``memory``.
        policy: what a call on mixed devices does: ``"stop"``, with torch's error; or ``"warn"``: it is reported on
            stderr, its operands meet on one device, and the program goes on. In this thread and its backward passes.
        history: host memory that the records of where tensors were placed may take; 64MiB by default.
        check: what else is checked: ``"streams"`` warns about tensors that are used on several streams, or in pinned
            memory, without an order. In this thread, its backward passes and the threads that it starts.
        full_size: whether tensors above ``real_below`` have shapes, devices and memory, and no numbers; nor has what is
            computed from them. CPU tensors that are made meanwhile are such tensors, too.
        real_below: bytes or a text; 64KiB by default.
        weights: what a model is loaded from at full size: ``"none"`` needs its configuration, ``"index"`` the headers
            of safetensors or an index, ``"real"`` the files; by default files that are there are opened.
        format: how a device error that leaves the ``with`` block and is caught nowhere is reported, behind its
            traceback: ``"terminal"``, ``"github"``, or ``"off"``; ``"html"``, ``"json"`` and ``"sarif"`` also write the
            file that ``output`` names, at the end of the process.
        output: a file that records the run, for ``devsan report``; a name that ends in .html, .json or .sarif is
            written in that format. One for each process: later emulations go on in the same file.
        force: replace ``output`` where it exists.

    Raises:
        devsan.errors.UsageError: an argument is not understood; the message names the nearest right spelling.
        devsan.errors.StartError: this installation cannot emulate.
    """
    options = from_values(
        gpus=gpus,
        profile=profile,
        memory=memory,
        used_memory=used_memory,
        policy=policy,
        history=history,
        check=check,
        full_size=full_size or None,
        real_below=real_below,
        weights=weights,
        format=None if format == "terminal" else format,
        output=None if output is None else os.fspath(output),
        force=force or None,
    )
    if not options.gpus:
        raise UsageError("GPUs to emulate", "gpus=real", "devsan.install()")
    return ReportingEmulation(options)


def _parts(options: Options) -> Iterator[ModuleType]:
    """What an emulation with ``options`` has more than another: modules, with all that reports are made with."""
    if options.full_size:
        from devsan import full_size

        yield full_size
    else:
        from devsan import large_models

        yield large_models
    if options.ranks or sample_of_ranks.VARIABLE in os.environ:
        from devsan import sample

        yield sample
    if BLOCKS in os.environ:
        from devsan.blocks import in_program

        yield in_program
    if options.policy == "warn":
        from devsan import policy

        yield policy
    else:
        from devsan import caught

        yield caught
    if "streams" in options.check:
        from devsan.streams import watch

        yield watch


def _start_core(core: ModuleType, devices: Sequence[DeviceSpec], history: int) -> None:
    import torch

    from devsan.cuda.devices import native_spec

    _share_memory(core)
    try:
        with torch._C._DisableTorchDispatch():  # a mode that is on (TORCH_CUDA_SANITIZER) would ask for a GPU already
            core.start([native_spec(device) for device in devices])
    except ValueError:
        raise  # PYTORCH_CUDA_ALLOC_CONF: torch's own sentence
    except Exception as error:
        raise StartError(f"DevSan cannot emulate here: {brief(error)}; {REBUILD}") from error
    core.leave_driver()
    core.require_lazy_init()
    core.start_recording(history)


def _share_memory(core: ModuleType) -> None:
    """The processes of a job that use the same GPU have its memory between them."""
    try:
        core.share_memory(memory_file(), node_in(os.environ))
    except Exception as error:
        tell(str(error))


def _settle_at_exit(core: ModuleType) -> None:
    # Under Python's own end an autograd worker that still holds Python objects aborts the process: see NOTE [Letting go
    # of a backward pass] in core/emulate/runtime/autograd_threads.cpp.
    atexit.unregister(_settle)
    atexit.register(_settle, core)


def _settle(core: ModuleType) -> None:
    tally.keep_peaks()  # settling takes memory, which is not the program's
    core.settle()
