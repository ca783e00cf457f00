"""``%devsan`` in IPython and Jupyter: emulated GPUs for a notebook, and in Jupyter the report as a page under its cell.

The emulation is the one that lasts as long as the process (``session``), so that what a cell starts with ``!`` or by
multiprocessing has the same GPUs.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from devsan import active_options, error_report, excepthook, session
from devsan.cli.command import Action, Parser
from devsan.cli.program_words import READERS, add_options
from devsan.diagnostics.messages import recorded, restored
from devsan.errors import DevsanError, UsageError
from devsan.options import OPTIONS, Options
from devsan.post_mortem import COLOR
from devsan.project_options import in_force
from devsan.render import html as page
from devsan.render.language import chosen, language_named
from devsan.run_files import recording
from devsan.run_files.document import findings_of
from devsan.run_files.reader import read_run
from devsan.spelling import nearest

if TYPE_CHECKING:
    from devsan.diagnostics.diagnostic import Diagnostic
    from devsan.introspect.explain import Explanation

MAGIC, OFF = "devsan", "off"
_USAGE = f"""%{MAGIC} --gpus 2 [options of devsan run]   emulate GPUs from now on, also in child processes
       %{MAGIC}                                   say what is emulated
       %{MAGIC} {OFF}                               end the emulation
       %%{MAGIC} --gpus 2 [options]               emulate GPUs in this cell alone"""
_HEIGHT = 640  # pixels, of the page under a cell; it can be dragged

_shell: Any = None
_output = ""  # where the cells are recorded, if the user has named a file


class _Magic:
    """Emulate GPUs in a notebook, with the options of devsan run.

    In Jupyter, the report on a device error is shown as a page under its cell.
    """

    name = MAGIC

    def prepare(self, words: Sequence[str]) -> Action:
        """Reads the options and starts the emulation."""
        options = self.read(words)
        return lambda: _begin(options)

    def read(self, words: Sequence[str]) -> Options:
        """Returns the options that are in force with ``words``.

        Raises:
            DevsanError: they are not understood.
        """
        parser = Parser(self, usage=_USAGE)
        add_options(parser, OPTIONS)
        known, others = parser.parse_known_args(words)
        if others:
            near = nearest(others[0], READERS)
            raise UsageError(f"options of devsan run behind %{MAGIC}", repr(others[0]), near and repr(near))
        return in_force(vars(known), session.outer_variable()).options


def load(shell: Any) -> None:
    """``%load_ext devsan``: explains device errors of cells (`devsan.install`), and adds the magic.

    Args:
        shell: the running ``IPython.InteractiveShell``.
    """
    global _shell
    _shell = shell
    shell.register_magic_function(_run, magic_kind="line_cell", magic_name=MAGIC)
    if hasattr(shell, "kernel"):  # of Jupyter; a terminal shows text
        error_report.show_by(_show)


def unload(shell: Any) -> None:
    """``%unload_ext devsan``: ends the emulation, too."""
    global _shell
    _shell = None
    error_report.show_by(None)
    session.end()
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop(MAGIC, None)


def _run(line: str, cell: str | None = None) -> None:
    from IPython.core.error import UsageError as ShownInOneLine

    before = active_options.current()
    try:
        words = shlex.split(line)
        if cell is None and words == [OFF]:
            session.end()
        elif words or cell is not None:
            _Magic().prepare(words)()
        if cell is None:
            print(_told(active_options.current()))
    except (DevsanError, ValueError) as error:  # shlex: a quotation without its end
        raise ShownInOneLine(f"devsan: {error}") from None
    if cell is not None:
        try:
            shown = _shell.run_cell(cell).error_in_exec
        finally:
            session.end()
            if before is not None:
                _begin(before)
        if shown is not None:  # with its traceback; the cells behind this one are not to run
            raise ShownInOneLine(f"devsan: the cell ended with {type(shown).__name__}")


def _begin(options: Options) -> int:
    global _output
    running = active_options.current()
    if running is not None and running != options:  # other GPUs, or the same with another policy, checks or file
        session.end()
    if options.output and options.output != _output:
        recording.finish()  # of the cells before, for their pages
        _output = options.output
    session.begin_in_job(options)
    excepthook.install()
    if not recording.is_on():  # the page under a cell is made of it
        folder = tempfile.mkdtemp(prefix="devsan-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        recording.begin(os.path.join(folder, "notebook.dvs"), options.devices())
    return 0


def _told(options: Options | None) -> str:
    say = language_named(chosen())
    if options is None:
        return f"devsan: {say('no GPUs are emulated')}"
    names = [f"cuda:{number} {device.name}" for number, device in enumerate(options.devices())]
    others = [f"--{option.key} {option.write(getattr(options, option.name))}".removesuffix(" yes")
              for option in OPTIONS if option.name not in ("gpus", "profile")
              and getattr(options, option.name) != option.default]  # fmt: skip
    told = say("emulated GPUs: {names}", names=", ".join(names)) if names else say("real GPUs")
    return f"devsan: {told} ({' '.join(others)})" if others else f"devsan: {told}"


def _show(text: io.StringIO, report: Diagnostic, explanation: Explanation | None) -> None:
    """Shows a report under the cell that runs: as a page where the front end can, else as text."""
    from IPython import display

    shown = {"text/plain": COLOR.sub("", text.getvalue()).strip("\n")}
    if recording.is_on():
        shown["text/html"] = _framed(_page(report, explanation))
    show: Any = display.display
    show(shown, raw=True)


def _page(report: Diagnostic, explanation: Explanation | None) -> str:
    recording.pause()
    run = read_run(recording.last_path())
    options = active_options.current()
    if options is not None:
        run["gpus"] = recording.gpus_of(options.devices())
    found = [{**each, "count": 1} for each in findings_of(report, explanation, 0.0)]
    # As a run file has them, so that the page is the one of ``devsan report``.
    run["findings"] = restored(json.loads(json.dumps(recorded({"findings": found}), default=str)))["findings"]
    return page.render([run])


def _framed(page: str) -> str:
    style = f"width: 100%; height: {_HEIGHT}px; border: 0; resize: vertical; overflow: auto"
    return f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts" style="{style}" title="DevSan"></iframe>'
