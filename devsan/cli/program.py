"""The program that ``devsan run`` runs, as ``python`` would run it.

NOTE [As python would] What a script can see of how it was started: ``sys.argv``, ``sys.path[0]``, the module
``__main__`` (its ``__file__``, ``__spec__``, ``__package__``, ``__builtins__``: multiprocessing's spawn reads them to
find the program again), and the frames of a traceback. python sets these in C (Modules/main.c) or in runpy, neither
of which can be asked to do it on top of a running interpreter without leaving frames or undoing it too early (runpy
takes ``__main__`` away before atexit and excepthooks run). So they are set here. tests/cli/test_program.py compares
each with python's own.
"""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import os
import shlex
import sys
import zipfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Protocol

from devsan import excepthook, overlay
from devsan.cli import source
from devsan.cli.executables import find_command
from devsan.errors import EXIT_USAGE, DevsanError, StartError, UsageError, tell
from devsan.job import supervisor
from devsan.numbers import observer, statements
from devsan.options import Options
from devsan.run_files.run_file import is_run_file
from devsan.spelling import nearest_script

_PACKAGE = str(Path(excepthook.__file__).parent) + os.sep


class Program(Protocol):
    """Something to run under emulation.

    Attributes:
        called: what its arguments stand behind, as it was written.
        arguments: the words that are passed on to it.
    """

    called: str
    arguments: Sequence[str]

    def texts(self) -> Iterable[str]:
        """Returns its Python text, and that of the modules beside it; nothing if it cannot be read."""

    def check(self) -> None:
        """Raises UsageError if there is nothing to run. Cheap: it comes before the emulation starts."""

    def run(self) -> int:
        """Runs it. The exit code is returned, or, as in python, an exception passes through."""


class Script:
    """``script.py args...``, also a directory or a zip file with a ``__main__.py`` in it."""

    def __init__(self, path: str, arguments: Sequence[str]) -> None:
        self._path = self.called = path
        self.arguments = arguments

    def texts(self) -> Iterable[str]:
        """Returns the script's text and that of the modules beside it."""
        path = Path(self._path)
        return source.texts(path, path if path.is_dir() else path.parent)

    def check(self) -> None:
        """Raises UsageError if there is no such file or it may not be read."""
        if not os.path.exists(self._path):
            raise UsageError("a script that exists", repr(self._path), nearest_script(self._path))
        if not os.access(self._path, os.R_OK):
            raise UsageError("a script that can be read", repr(self._path))
        if is_run_file(self._path) and os.path.getsize(self._path):
            raise UsageError("a script", f"the run file {self._path!r}", f"devsan report {shlex.quote(self._path)}")
        if os.path.isdir(self._path) and not os.path.exists(os.path.join(self._path, "__main__.py")):
            raise UsageError("a script, or a directory with a __main__.py", f"the directory {self._path!r}")

    def run(self) -> int:
        """Runs the file as ``__main__``."""
        sys.argv = [self._path, *self.arguments]
        # Absolute but not normalized, as config_run_filename_abspath in CPython's initconfig.c makes it.
        path = os.path.join(os.getcwd(), self._path)
        if os.path.isdir(path) or zipfile.is_zipfile(path):
            _set_first_on_path(path, also_when_safe=True)
            return _execute(lambda: _load_module("__main__", [path]))
        _set_first_on_path(os.path.dirname(os.path.realpath(path)))
        return _execute(lambda: self._load(path), forget_file=True)

    def _load(self, path: str) -> tuple[CodeType, ModuleType]:
        module = _main_module()
        module.__file__ = path
        module.__dict__["__cached__"] = None
        module.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
        # compile() and not the loader: a SyntaxError then has no frames of importlib in front.
        changed = overlay.text_of(path)
        text = Path(path).read_bytes() if changed is None else changed
        if observer.is_on():
            return statements.compiled(text, path, module.__dict__, observer.keep), module
        return compile(text, path, "exec", dont_inherit=True), module


class Module:
    """``-m module args...``."""

    def __init__(self, name: str, arguments: Sequence[str]) -> None:
        self._name = name
        self.called = f"-m {name}"
        self.arguments = arguments

    def texts(self) -> Iterable[str]:
        """Returns the module's text and that of the modules in the working folder that it imports."""
        file = source.find_module(self._name)
        return () if file is None else source.texts(file, Path.cwd())

    def check(self) -> None:
        """Raises UsageError if the first part of the dotted name cannot be found; nothing is imported for it."""
        _set_first_on_path(os.getcwd())
        first = self._name.partition(".")[0]
        try:
            found = first != "" and importlib.util.find_spec(first) is not None
        except ValueError:  # a module without __spec__ is loaded under that name
            found = True
        if not found:
            raise UsageError("a module that exists", repr(self._name))

    def run(self) -> int:
        """Runs the module as ``__main__``."""
        sys.argv = ["-m", *self.arguments]  # what python shows until the module is found
        return _execute(self._load)

    def _load(self) -> tuple[CodeType, ModuleType]:
        code, module = _load_module(self._name, None)
        sys.argv[0] = str(module.__file__)
        return code, module


class Code:
    """``-c code args...``."""

    def __init__(self, text: str, arguments: Sequence[str]) -> None:
        self._text = text
        self.called = "the code"
        self.arguments = arguments

    def texts(self) -> Iterable[str]:
        """Returns the text."""
        return (self._text,)

    def check(self) -> None:
        """Any text can be tried."""

    def run(self) -> int:
        """Runs the text as ``__main__``."""
        sys.argv = ["-c", *self.arguments]
        _set_first_on_path("")
        return _execute(self._load)

    def _load(self) -> tuple[CodeType, ModuleType]:
        module = _main_module()
        module.__loader__ = importlib.machinery.BuiltinImporter
        return compile(self._text, "<string>", "exec", dont_inherit=True), module


class CommandLine:
    """``-- command args...``: runs that command; the Python programs in it find the emulation by themselves."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = list(words)
        self._options = Options()
        script = source.script_among(words)
        self.called = words[script] if script < len(words) else ""
        self.arguments = words[script + 1 :]

    def texts(self) -> Iterable[str]:
        """Returns the text of the script that the command runs, if one is named and there."""
        return source.texts(Path(self.called), Path(self.called).parent) if self.called else ()

    def reported(self, options: Options) -> None:
        """Says how to report on the job that the command starts."""
        self._options = options

    def check(self) -> None:
        """Finds the command. Raises UsageError without one, StartError where its children could not be reached."""
        if not self._words:
            raise UsageError("a command after --", "nothing")
        found = find_command(self._words[0])
        if found is None:
            raise UsageError("a command on PATH", repr(self._words[0]))
        self._words[0] = found
        from importlib.metadata import entry_points

        if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") != "1":
            raise StartError(
                "expected TORCH_DEVICE_BACKEND_AUTOLOAD=1 (a command is emulated through it), got "
                f"{os.environ['TORCH_DEVICE_BACKEND_AUTOLOAD']!r}"
            )
        if not any(point.name == "devsan" for point in entry_points(group="torch.backends")):
            raise StartError(
                "expected devsan to be installed (a command is emulated through its entry point "
                "torch.backends), got a copy that is only on the path"
            )

    def run(self) -> int:
        """Waits for the command, whose exit code or signal becomes this process's, and reports on its ranks."""
        return supervisor.run(self._words, self._options)


def _set_first_on_path(directory: str, also_when_safe: bool = False) -> None:
    """Puts ``directory`` where python put the directory of ``devsan`` itself; python -P puts neither there."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = directory
    elif also_when_safe:
        sys.path.insert(0, directory)


def _main_module() -> ModuleType:
    module = ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins  # exec would put the dictionary of it here
    if sys.version_info < (3, 14):
        module.__annotations__ = {}
    return module


def _load_module(name: str, path: list[str] | None) -> tuple[CodeType, ModuleType]:
    """Finds ``name`` (a package stands for its ``__main__``); parent packages are imported, as by ``python -m``."""
    spec = importlib.util.find_spec(name) if path is None else importlib.machinery.PathFinder.find_spec(name, path)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(name + ".__main__")
        if spec is None:
            raise UsageError("a module", f"the package {name!r}, which has no __main__")
    get_code: Callable[[str], CodeType | None] | None = getattr(spec and spec.loader, "get_code", None)
    code = get_code(spec.name) if spec is not None and get_code is not None else None
    if spec is None or code is None:
        raise UsageError("a module with Python code", repr(name))
    module = _main_module()
    module.__spec__ = spec
    module.__file__ = spec.origin
    module.__dict__["__cached__"] = spec.cached
    module.__loader__ = spec.loader
    module.__package__ = spec.parent
    return code, module


def _execute(load: Callable[[], tuple[CodeType, ModuleType]], forget_file: bool = False) -> int:
    """Runs what ``load`` returns as ``__main__``; an exception passes through and is shown as python shows it.

    Args:
        load: makes the code and the module that is to be ``__main__``.
        forget_file: take ``__file__`` away at the end, as python does for a script (_PyRun_SimpleFile in
            pythonrun.c): threads and atexit functions that still run then do not find it.
    """
    keep = sys.modules["__main__"]  # its globals are cleared once nobody refers to it, and it is still running
    try:
        code, module = load()
        sys.modules["__main__"] = module
        exec(code, module.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        if isinstance(error, DevsanError) and sys.modules["__main__"] is keep:
            tell(str(error))  # found out while loading: DevSan's, not the program's
            return EXIT_USAGE
        _hide_own_frames(error, forget_file)
        raise
    if forget_file:
        _forget_file()
    return 0


def _forget_file() -> None:
    for name in ("__file__", "__cached__"):
        sys.modules["__main__"].__dict__.pop(name, None)


def _hide_own_frames(error: BaseException, forget_file: bool) -> None:
    """Arranges that the traceback of ``error``, about to reach the top, shows the program and no frame of DevSan.

    The interpreter itself stays in charge, so that exit codes (also of Ctrl-C) and errors in hooks are its own; only
    the hook that it calls gets the shorter traceback. The program's own ``sys.excepthook`` is the one that is called.
    """
    trace = error.__traceback__
    while trace is not None and (_is_own(trace) or trace.tb_frame.f_code.co_filename.startswith("<frozen ")):
        trace = trace.tb_next
    link = trace
    while link is not None and link.tb_next is not None:
        if _is_own(link.tb_next):
            link.tb_next = link.tb_next.tb_next
        else:
            link = link.tb_next
    hook = sys.excepthook

    def show(kind: type[BaseException], value: BaseException, whole: TracebackType | None, /) -> None:
        if value is not error:
            hook(kind, value, whole)
            return
        forget = forget_file
        value.__traceback__ = sys.last_traceback = trace
        try:
            hook(kind, value, trace)
            if excepthook.is_installed():  # for a program that put its own hook in place of ours
                excepthook.report(kind, value, trace)
        except SystemExit:
            forget = False  # from a hook, it ends python on the spot
            raise
        finally:
            if forget:
                _forget_file()

    sys.excepthook = show


def _is_own(trace: TracebackType) -> bool:
    return trace.tb_frame.f_code.co_filename.startswith(_PACKAGE)
