"""The options of an emulation: one list that makes the parser, the defaults, the help and ``DEVSAN_OPTIONS``.

``DEVSAN_OPTIONS`` is written as AddressSanitizer writes its own: ``key=value:key=value``. A later key wins over an
earlier one, so that ``DEVSAN_OPTIONS="$DEVSAN_OPTIONS:memory=24GiB"`` does what it looks like.

NOTE [Adding an option] One more ``option(...)`` field in `Options` is all that is needed: ``devsan run --name``,
``devsan run --help``, ``pytest --devsan-name`` and ``DEVSAN_OPTIONS=name=...`` follow from it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from devsan.errors import UsageError
from devsan.fail_on import LEVELS
from devsan.gpu_list import MAX_GPUS, REAL, read_gpus, write_gpus
from devsan.option import Option, flag, lists, one_of, option
from devsan.profiles import DEFAULT_PROFILE, DeviceSpec, all_profiles, find_profile
from devsan.report_format import FORMATS, OFF, ON_STDERR, format_of, refuse_ending
from devsan.sample_of_ranks import read_ranks, write_ranks
from devsan.sizes import read_size, write_size
from devsan.spelling import nearest

VARIABLE = "DEVSAN_OPTIONS"

BLOCKS = "DEVSAN_BLOCKS"
"""The variable by which a rehearsal of ``devsan plan`` finds what is asked of it (devsan/blocks/request.py)."""

DEFAULT_GPUS = 2
"""The smallest number on which a mismatch between two GPUs can happen."""

DEFAULT_HISTORY = 64 << 20
"""Room for tens of thousands of placements, each under its own stack; a program without generated code has hundreds."""

LEAST_HISTORY = 1 << 20

DEFAULT_REAL_BELOW = 64 << 10
"""Room for a batch of tokens, a mask or a bias; the weights of a model that needs full size are larger."""

AUTO = "auto"
"""As ``weights``: those that are there are opened, and for others their description is enough."""

WEIGHTS = (AUTO, "none", "index", "real")

LANGUAGES = ("en", "zh")

POLICIES = ("stop", "warn")

CHECKS = ("streams",)
"""What is checked beyond devices, where it is asked for."""

_LAST_EXIT_CODE = 255


@lists(lambda: tuple(all_profiles()))
def _read_profile(text: str) -> str | None:
    return find_profile(text).key


def _read_sizes(text: str) -> tuple[int, ...]:
    return tuple(read_size(item) for item in text.split(","))


def _write_sizes(sizes: tuple[int, ...]) -> str:
    return ",".join(write_size(size) for size in sizes)


def _read_history(text: str) -> int:
    size = read_size(text)
    if size < LEAST_HISTORY:
        raise UsageError(f"history of at least {write_size(LEAST_HISTORY)}", repr(text), write_size(LEAST_HISTORY))
    return size


def _read_exit_code(text: str) -> int:
    if not text.isdecimal() or int(text) > _LAST_EXIT_CODE:
        raise UsageError(f"an exit code from 0 to {_LAST_EXIT_CODE}", repr(text))
    return int(text)


@lists(lambda: CHECKS)
def _read_checks(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one_of("check", CHECKS)(item.strip()) for item in text.split(",")))


def _read_output(text: str) -> str:
    """Reads the name of a file. It is made absolute: children that work in another folder write beside it."""
    if ":" in text:
        raise UsageError("output without a colon, which separates options in DEVSAN_OPTIONS", repr(text))
    path = os.path.abspath(os.path.expanduser(text.strip()))
    if ":" in path:
        raise UsageError("output in a folder without a colon in its name", repr(path))
    return path


def _one_for_all(name: str, sizes: Sequence[int], gpus: int) -> Sequence[int]:
    if len(sizes) in (1, gpus):
        return list(sizes) * (gpus if len(sizes) == 1 else 1)
    raise UsageError(f"one size for {name}, or one for each of {gpus} GPUs", f"{len(sizes)} sizes")


@dataclass(frozen=True)
class Options:
    """What to emulate. The fields are the one list of options, in the order in which the help shows them."""

    gpus: tuple[str | None, ...] = option(
        (None,) * DEFAULT_GPUS,
        metavar="GPUS",
        read=read_gpus,
        write=write_gpus,
        help=f"number or models of the GPUs: 4, 4:a100-80g, a100-80g,l4-24g, 2*a100-80g,l4-24g (1 to {MAX_GPUS}); or "
        f"{REAL}: emulate nothing and only explain errors (default: {DEFAULT_GPUS})",
    )
    profile: str | None = option(
        None,
        metavar="PROFILE",
        read=_read_profile,
        write=str,
        help=f"model of the GPUs if gpus is a number; devsan profiles lists the models (default: {DEFAULT_PROFILE})",
    )
    memory: tuple[int, ...] = option(
        (),
        metavar="SIZE",
        read=_read_sizes,
        write=_write_sizes,
        help="memory of all GPUs (24GiB) or of each GPU (24GiB,512MiB) (default: that of the profile)",
    )
    used_memory: tuple[int, ...] = option(
        (),
        metavar="SIZE",
        read=_read_sizes,
        write=_write_sizes,
        help="memory that other programs use on the GPUs, in the same form as memory (default: 0)",
    )
    policy: str = option(
        "stop",
        metavar="POLICY",
        read=one_of("policy", POLICIES),
        write=str,
        help="what happens at a call on mixed devices: stop raises torch's error, as on a GPU; warn reports the call, "
        "moves its operands to one device and continues (default: stop)",
    )
    check: tuple[str, ...] = option(
        (),
        metavar="CHECK",
        read=_read_checks,
        write=",".join,
        help="what else is checked while the program runs: streams warns about tensors that are used on several CUDA "
        "streams, or in pinned memory, without an order (default: nothing)",
    )
    history: int = option(
        DEFAULT_HISTORY,
        metavar="SIZE",
        read=_read_history,
        write=write_size,
        help="host memory for the records of tensor placements, for example 256MiB; when it is full, records that no "
        "tensor needs are dropped (default: 64MiB)",
    )
    full_size: bool = flag(
        help="rehearse a job that is larger than this machine: large tensors have shapes, devices and memory, and no "
        "numbers"
    )
    real_below: int = option(
        DEFAULT_REAL_BELOW,
        metavar="SIZE",
        read=read_size,
        write=write_size,
        help="with full-size, the size up to which tensors have numbers; integers and booleans have them up to 256 "
        "times as much (default: 64KiB)",
    )
    weights: str = option(
        AUTO,
        metavar="WEIGHTS",
        read=one_of("weights", WEIGHTS),
        write=str,
        help="with full-size, what a model is loaded from: none needs its configuration alone, index the headers of "
        "safetensors or an index, real the files themselves; auto opens the files that are there (default: auto)",
    )
    ranks: tuple[tuple[int, int], ...] = option(
        (),
        metavar="RANKS",
        read=read_ranks,
        write=write_ranks,
        help="of a launch by torchrun or accelerate launch, start only these ranks, which stand in for the others: "
        "first,last or 0,7,504-511 (default: all of them)",
    )
    format: str = option(
        "terminal",
        metavar="FORMAT",
        read=one_of("format", (*FORMATS, OFF)),
        write=str,
        help="format of the report: terminal prints it on stderr after the traceback of an uncaught exception; github "
        "also prints an annotation for GitHub Actions; json, html, sarif and perfetto also write a file at the end of "
        "the run, which -o names, instead of the run file; off prints nothing (default: terminal)",
    )
    output: str = option(
        "",
        metavar="FILE",
        read=_read_output,
        write=str,
        help="record the run in this file, for devsan report; %r in the name is the rank, %p the process ID; or the "
        "file that the format writes, which a name that ends in .html, .json, .sarif or .perfetto.json chooses, too "
        "(default: nothing is recorded)",
        short="o",
    )
    fail_on: str = option(
        "",
        metavar="LEVEL",
        read=one_of("fail-on", LEVELS),
        write=str,
        help="which findings make devsan fail, beside a program that fails by itself: error, warning (errors, too) or "
        "never (default: never)",
    )
    error_exitcode: int | None = option(
        None,
        metavar="N",
        read=_read_exit_code,
        write=str,
        help="exit code where findings make devsan fail, also instead of the program's own; alone it means "
        "--fail-on error (default: that of the program if it failed, else 1)",
    )
    quiet: bool = flag(help="print no closing line where a program ends well", short="q")
    verbose: bool = flag(help="with the closing line, print the memory of each GPU", short="v")
    force: bool = flag(help="replace the files that output names; without it, no file that exists is overwritten")
    lang: str = option(
        "",
        metavar="LANG",
        read=one_of("lang", LANGUAGES),
        write=str,
        help="language of the report: en or zh (default: DEVSAN_LANG, or the locale)",
    )

    def devices(self) -> tuple[DeviceSpec, ...]:
        """Returns the GPUs in the order of their ordinals; none for ``real``.

        Raises:
            UsageError: the options contradict each other, e.g. three sizes of memory for four GPUs.
        """
        if self.format not in (*ON_STDERR, OFF) and not self.output:
            raise UsageError(f"-o FILE with --format {self.format}", "none")
        if not self.gpus:
            for name in EMULATION:
                if getattr(self, name) != find_option(name).default:
                    raise UsageError(f"gpus={REAL} without {find_option(name).key}, which is for emulated GPUs", "both")
            return ()
        if self.profile is not None and self.gpus[0] is not None:
            raise UsageError(
                "the profiles either in gpus or in profile", f"gpus={write_gpus(self.gpus)} and profile={self.profile}"
            )
        count = len(self.gpus)
        memory = _one_for_all("memory", self.memory, count) if self.memory else [None] * count
        used = _one_for_all("used-memory", self.used_memory, count) if self.used_memory else [0] * count
        devices = []
        for ordinal, key in enumerate(self.gpus):
            profile = find_profile(key or self.profile or DEFAULT_PROFILE)
            device = profile.device(ordinal, memory[ordinal], used[ordinal])
            if device.total_memory == 0:
                raise UsageError(f"memory of cuda:{ordinal} greater than 0", "0")
            if device.used_memory > device.total_memory:
                most = write_size(device.total_memory >> 20 << 20)  # a driver's figure is no round one
                raise UsageError(
                    f"used-memory of cuda:{ordinal} to be at most its memory, {most}", write_size(device.used_memory)
                )
            devices.append(device)
        return tuple(devices)

    def updated(self, texts: Mapping[str, str]) -> Options:
        """Returns these options with those in ``texts`` read over them; ``gpus`` with profiles replaces ``profile``.

        Raises:
            UsageError: a key or a value is not understood.
        """
        read = {}
        for key, text in texts.items():
            found = find_option(key)
            if not text.strip():
                raise UsageError(f"{key}={found.metavar}", f"{key} without a value")
            read[found.name] = found.read(text)
        if read.get("gpus", (None,)) == ():  # what was said of emulated GPUs before is meant for those
            read = {**{name: find_option(name).default for name in EMULATION}, **read}
        if "format" not in read and self.format == FORMATS[0]:
            read["format"] = format_of(read.get("output", "")) or self.format
            if read.get("output") and read["format"] in ON_STDERR:
                refuse_ending(read["output"])
        if "profile" not in read and (read.get("gpus") or (None,))[0] is not None:
            read["profile"] = None
        return replace(self, **read)

    @property
    def is_reported(self) -> bool:
        """Returns whether failures are reported on."""
        return self.format != OFF

    @property
    def report_file(self) -> str:
        """Returns the file of a report that is one; "" where ``output`` is a run file."""
        return "" if self.format in (*ON_STDERR, OFF) else self.output

    def to_variable(self) -> str:
        """Returns the value of ``DEVSAN_OPTIONS`` that gives these options in another process; never empty."""
        return ":".join(
            f"{each.key}={each.write(getattr(self, each.name))}"
            for each in OPTIONS
            if each.name == "gpus" or getattr(self, each.name) != each.default
        )


EMULATION = ("profile", "memory", "used_memory", "policy", "check", "history", "full_size", "real_below", "weights",
             "ranks")  # fmt: skip
"""The options that only emulated GPUs have."""

REPORTING = ("format", "output", "fail_on", "error_exitcode", "quiet", "verbose", "force", "lang")
"""The options that say what is told of a run, and how. The others say what is emulated, and so what it computes."""

_TELLING = tuple(name for name in REPORTING if name != "lang")

NOT_OF_FIX = ("policy", "full_size", "real_below", "weights", *_TELLING)
"""The options that ``devsan fix`` does not take: each experiment has its own."""

NOT_OF_PLAN = ("policy", "full_size", *_TELLING)
"""The options that ``devsan plan`` does not take."""

OPTIONS: tuple[Option, ...] = tuple(
    Option(name=each.name, default=each.default, **each.metadata) for each in fields(Options)
)


def find_option(name: str) -> Option:
    """Returns the option called ``name``.

    Raises:
        UsageError: there is none; the message names the one that is spelled most like it.
    """
    for each in OPTIONS:
        if name in (each.name, each.key):
            return each
    names = [each.key for each in OPTIONS]
    near = nearest(name, names)
    raise UsageError(f"an option ({', '.join(names)})", repr(name), near and repr(near))


def read_variable(text: str, base: Options | None = None) -> Options:
    """Reads the value of ``DEVSAN_OPTIONS``, over ``base`` if given.

    Raises:
        UsageError: it is not ``key=value:key=value``, or a key or a value is not understood.
    """
    return (base or Options()).updated(texts_of_variable(text))


def texts_of_variable(text: str) -> dict[str, str]:
    """Returns what the value of ``DEVSAN_OPTIONS`` gives, by key.

    Raises:
        UsageError: it is not ``key=value:key=value``.
    """
    texts = {}
    for item in text.split(":"):
        if not item.strip():
            continue  # "$DEVSAN_OPTIONS:memory=24GiB" starts with a colon when the variable was not set
        key, equals, value = item.partition("=")
        if not equals:
            raise UsageError(f"key=value in {VARIABLE}", repr(item), repr(_nearest_item(item.strip())))
        texts[key.strip()] = value
    return texts


def _nearest_item(item: str) -> str:
    """What a word without ``=`` may have been meant as: ``4`` as gpus=4, ``a100-80g`` as profile=a100-80g."""
    for name in ("profile", "gpus", "memory"):
        try:
            find_option(name).read(item)
        except UsageError:
            continue
        return f"{name}={item}"
    return f"{nearest(item, [each.key for each in OPTIONS]) or 'gpus'}=..."


def from_values(**values: Any) -> Options:
    """Reads options given as Python values: a text in the grammar above, a number, or a sequence of these.

    A number is a count of GPUs for ``gpus`` and bytes for sizes; None leaves the default.

    Raises:
        UsageError: a key or a value is not understood.
    """
    texts = {}
    for key, value in values.items():
        if value is None:
            continue
        items = value if isinstance(value, (list, tuple)) else [value]
        texts[key] = ",".join(_as_text(key, item) for item in items)
    return Options().updated(texts)


_LEAST_NUMBER = 1 << 20
"""Of a GPU's memory as a number of bytes: a smaller one is meant in another unit. torch takes 2 MiB at once or more."""


def _as_text(key: str, value: Any) -> str:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if is_number and key in ("memory", "used_memory") and 0 < value < _LEAST_NUMBER:
        unit, factor = ("GiB", "2**30") if value < 1024 else ("MiB", "2**20")
        hint = f"'{value}{unit}', or {value} * {factor}"
        raise UsageError(f"{key} of at least {write_size(_LEAST_NUMBER)}", f"{value} bytes", hint)
    return f"{value}B" if is_number and key in ("memory", "used_memory", "history", "real_below") else str(value)
