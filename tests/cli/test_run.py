"""devsan run: options, errors of DevSan's own, children, reports; at the end, end to end over the real core."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys

import pytest

from devsan.cli.main import COMMANDS
from devsan.options import OPTIONS

TWO = "a100-80g,a100-80g"
NAMES = ", ".join(command.name for command in COMMANDS)
SPELLINGS = ", ".join(spelling for option in OPTIONS for spelling in option.spellings)


def said(done: subprocess.CompletedProcess[str]) -> str:
    """The one sentence on stderr of a devsan that could not do what was asked."""
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("devsan: ") and done.stderr.count("\n") == 1, done.stderr
    return done.stderr.removeprefix("devsan: ").rstrip("\n")


@pytest.mark.parametrize(
    ("words", "profiles"),
    [
        ([], TWO),
        (["--gpus", "3"], "a100-80g,a100-80g,a100-80g"),
        (["--gpus=1"], "a100-80g"),
        (["--gpus", "2:l4-24g"], "l4-24g,l4-24g"),
        (["--gpus", "2*l4-24g,t4-16g"], "l4-24g,l4-24g,t4-16g"),
        (["--gpus", "2", "--profile", "T4-16G"], "t4-16g,t4-16g"),
    ],
)
def test_gpus(front, words, profiles):
    done = front.devsan("run", *words, "-c", "import os; print(os.environ['DEVSAN_OPTIONS'])")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert front.log() == [f"start {profiles}"]
    again = front.python("-c", "import torch", DEVSAN_OPTIONS=done.stdout.strip())
    assert again.returncode == 0
    assert front.log() == [f"start {profiles}"] * 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "expected a program to run: script.py, -m module, -c code or -- command, got nothing"),
        (["--gpus"], "expected a value after --gpus, got nothing"),
        (["--gpus", "0", "x.py"], "expected 1 to 64 GPUs, got 0"),
        (["--gpus", "-1", "x.py"], "expected 1 to 64 GPUs, got -1"),
        (["--gpus", "65", "x.py"], "expected 1 to 64 GPUs, got 65"),
        (["--gpus", "60*l4-24g,5*t4-16g", "x.py"], "expected 1 to 64 GPUs, got 65"),
        (
            ["--gpus", "0,1,2", "x.py"],
            "expected a number of GPUs or a list of profiles such as 2*a100-80g,l4-24g, got '0,1,2'; did you mean 3?",
        ),
        (
            ["--gpus", "2:a100", "x.py"],
            "expected a GPU profile (devsan profiles lists them), got 'a100'; did you mean a100-80g?",
        ),
        (
            ["--profile", "NVIDIA H200", "x.py"],
            "expected a GPU profile (devsan profiles lists them), got 'NVIDIA H200'; did you mean h200-141g?",
        ),
        (["--profile", "??", "x.py"], "expected a GPU profile (devsan profiles lists them), got '??'"),
        (["--memory", "24", "x.py"], "expected a size such as 24GiB or 512MiB, got '24'; did you mean 24GiB?"),
        (["--memory", "-1GiB", "x.py"], "expected a size such as 24GiB or 512MiB, got '-1GiB'"),
        (["--memory", "0", "x.py"], "expected memory of cuda:0 greater than 0, got 0"),
        (
            ["--gpus", "4", "--memory", "1GiB,2GiB,3GiB", "x.py"],
            "expected one size for memory, or one for each of 4 GPUs, got 3 sizes",
        ),
        (
            ["--memory", "1GiB", "--used-memory", "2GiB", "x.py"],
            "expected used-memory of cuda:0 to be at most its memory, 1GiB, got 2GiB",
        ),
        (
            ["--gpus", "l4-24g", "--profile", "t4-16g", "x.py"],
            "expected the profiles either in gpus or in profile, got gpus=l4-24g and profile=t4-16g",
        ),
        (
            ["--gpu", "4", "x.py"],
            "expected an option that devsan run --help shows, got '--gpu'; did you mean --gpus?",
        ),
        (["--zzz", "x.py"], f"expected an option of devsan run ({SPELLINGS}), got '--zzz'"),
        (
            ["--json", "x.py"],
            "expected an option that devsan run --help shows, got '--json'; did you mean --format json?",
        ),
        (
            ["--format", "of", "x.py"],
            "expected format to be terminal, json, html, sarif, perfetto, github or off, got 'of'; did you mean 'off'?",
        ),
        (["--format", "sarif", "x.py"], "expected -o FILE with --format sarif, got none"),
        (
            ["--format", "html", "-o", "nowhere/x.html", "x.py"],
            "expected output in a folder that exists, got {folder}/nowhere'",
        ),
        (["--format", "html", "-o", ".", "x.py"], "expected a file for output, got the directory {folder}'"),
        (
            ["-o", "x.pdf", "x.py"],
            "expected output that ends with .dvs, .json, .html, .sarif or .perfetto.json, got 'x.pdf'",
        ),
        (["nowhere.py"], "expected a script that exists, got 'nowhere.py'"),
        (["./y.py"], "expected a script that exists, got './y.py'"),
        (["o.dvs"], "expected a script, got the run file 'o.dvs'; did you mean devsan report o.dvs?"),
        (["."], "expected a script, or a directory with a __main__.py, got the directory '.'"),
        (["-m"], "expected a module after -m, got nothing"),
        (["-m", "nowhere.module"], "expected a module that exists, got 'nowhere.module'"),
        (["-m", "email.nowhere"], "expected a module with Python code, got 'email.nowhere'"),
        (["-m", "email"], "expected a module, got the package 'email', which has no __main__"),
        (["-c"], "expected code after -c, got nothing"),
        (["--"], "expected a command after --, got nothing"),
        (["--", "no-such-command"], "expected a command on PATH, got 'no-such-command'"),
    ],
)
def test_sentences(front, words, sentence):
    front.write("x.py", "")
    front.write("o.dvs", '{"record": "run", "version": 1}\n')
    assert said(front.devsan("run", *words)) == sentence.replace("{folder}", f"'{front.folder}")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            [],
            f"expected a command ({NAMES}), got nothing; did you mean devsan --help?",
        ),
        (
            ["rn"],
            f"expected a command ({NAMES}), got 'rn'; did you mean devsan run?",
        ),
        (
            ["train.py"],
            f"expected a command ({NAMES}), got 'train.py'; did you mean devsan run train.py?",
        ),
        (
            ["--vers"],
            f"expected a command ({NAMES}), got '--vers'; did you mean devsan --version?",
        ),
        (
            ["profiles", "a100"],
            "expected a GPU profile (devsan profiles lists them), got 'a100'; did you mean a100-80g?",
        ),
    ],
)
def test_commands(front, words, sentence):
    assert said(front.devsan(*words)) == sentence


def test_help_names_every_option_and_default(front):
    text = front.devsan("run", "--help").stdout
    for word in (
        "--gpus",
        "--profile",
        "--memory",
        "--used-memory",
        "--format",
        "a100-80g",
        "DEVSAN_OPTIONS",
        "TORCH_DEVICE_BACKEND_AUTOLOAD=0",
    ):
        assert word in text
    assert "run " in front.devsan("--help").stdout


def test_help_says_of_each_command_what_its_own_help_says_first(front):
    listed = front.devsan("--help").stdout.partition("commands:\n")[2].partition("\n\n")[0]
    lines = dict(line.split(maxsplit=1) for line in re.sub(r"\n {5,}", " ", listed).splitlines())
    assert ", ".join(lines) == NAMES
    for name, summary in lines.items():
        assert f" {summary} " in " ".join(front.devsan(name, "--help").stdout.split())


def test_a_command_imports_no_other(front):
    code = "import sys; from devsan.cli.main import main; main(sys.argv[1:]); print(sorted(sys.modules))"
    for words, own in (["--help"], ""), (["profiles"], "profiles"), (["explain", "DV101"], "explain"):
        shown = front.python("-c", code, *words).stdout.splitlines()[-1]
        assert [name for name in NAMES.split(", ") if f"'devsan.cli.{name}'" in shown] == [own] * bool(own)
    assert front.devsan("--version").stdout.startswith("devsan ")
    assert front.log() == []


def test_the_environment_is_the_base_and_the_command_line_wins(front):
    code = "import os; print(os.environ['DEVSAN_OPTIONS'])"
    done = front.devsan("run", "--gpus", "3", "-c", code, DEVSAN_OPTIONS="gpus=4:memory=1GiB")
    assert done.stdout == "gpus=3:memory=1GiB\n"
    done = front.devsan("run", "--gpus", "t4-16g", "-c", code, DEVSAN_OPTIONS="profile=l4-24g")
    assert done.stdout == "gpus=t4-16g\n"
    assert said(front.devsan("run", "-c", code, DEVSAN_OPTIONS="gpus")).startswith(
        "expected key=value in DEVSAN_OPTIONS, got 'gpus'"
    )


def test_nested_runs_start_once_per_process(front):
    front.write("inner.py", "import torch, os; print(os.environ['DEVSAN_OPTIONS'])\n")
    done = front.devsan(
        "run",
        "--gpus",
        "4",
        "--",
        sys.executable,
        "-m",
        "devsan",
        "run",
        "inner.py",
        PYTHONPATH=with_entry_point(front),
    )
    assert done.stdout == "gpus=4\n", done.stderr
    assert front.log() == ["start " + ",".join(["a100-80g"] * 4)]


def test_main_called_inside_an_emulated_process(front):
    front.write("inner.py", "print('inner')\n")
    front.write("outer.py", "from devsan.cli.main import main\nprint(main(['run', 'inner.py']))\n")
    assert front.devsan("run", "outer.py").stdout == "inner\n0\n"
    assert front.log() == [f"start {TWO}"]
    front.write("outer.py", "from devsan.cli.main import main\nprint(main(['run', '--gpus', '1', 'inner.py']))\n")
    assert front.devsan("run", "outer.py").stdout == "inner\n0\n"
    assert front.log()[1:] == [f"start {TWO}", "stop", "start a100-80g"]


def with_entry_point(front) -> str:
    """A path on which devsan counts as installed, with the entry point that pip would write."""
    front.write("site/devsan-0.dist-info/METADATA", "Metadata-Version: 2.1\nName: devsan\nVersion: 0\n")
    front.write("site/devsan-0.dist-info/entry_points.txt", "[torch.backends]\ndevsan = devsan.autoload:load\n")
    return os.pathsep.join([str(front.folder / "site"), front.environment["PYTHONPATH"]])


def test_command(front):
    path = with_entry_point(front)
    done = front.devsan(
        "run",
        "--gpus",
        "3",
        "--",
        "sh",
        "-c",
        'echo "$DEVSAN_OPTIONS $*"; exit 7',
        "sh",
        "-m",
        "--",
        "a b",
        PYTHONPATH=path,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("gpus=3 -m -- a b\n", "", 7)
    assert front.log() == []  # the command itself is no Python program
    done = front.devsan("run", "--", sys.executable, "-c", "import torch", PYTHONPATH=path)
    assert done.returncode == 0
    assert front.log() == [f"start {TWO}"]
    done = front.devsan("run", "--", "sh", "-c", "kill -9 $$", PYTHONPATH=path)
    assert done.returncode == -9


def test_command_that_could_not_be_emulated(front):
    sentence = said(front.devsan("run", "--", "sh", TORCH_DEVICE_BACKEND_AUTOLOAD="0"))
    assert sentence == "expected TORCH_DEVICE_BACKEND_AUTOLOAD=1 (a command is emulated through it), got '0'"


@pytest.mark.parametrize(
    ("failure", "sentence"),
    [
        ("ImportError:no _core\nsecond line", "DevSan cannot start: ImportError: no _core second line"),
        ("RuntimeError:torch 9.9", "DevSan cannot start: RuntimeError: torch 9.9"),
    ],
)
def test_a_core_that_does_not_start(front, failure, sentence):
    front.write("script.py", "import torch; print('ran')\n")
    assert said(front.devsan("run", "script.py", FAKE_FAILURE=failure)) == sentence
    aside = front.python("script.py", FAKE_FAILURE=failure, DEVSAN_OPTIONS="gpus=2")
    assert (aside.returncode, aside.stdout) == (0, "ran\n")
    assert aside.stderr == f"devsan: {sentence}; the program continues without emulation (DEVSAN_OPTIONS)\n"


FAILS = "import torch\ndef f():\n    raise ValueError('the value')\nf()\n"


@pytest.mark.parametrize("how", ["devsan run", "DEVSAN_OPTIONS"])
def test_report_follows_the_traceback(front, how):
    front.write("fails.py", FAILS)

    def run(**environment):
        if how == "devsan run":
            return front.devsan("run", "fails.py", **environment)
        return front.python("fails.py", DEVSAN_OPTIONS="gpus=2", **environment)

    plain = front.python("fails.py")
    done = run()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == plain.stderr + "REPORT ValueError at <module>\n"
    broken = run(FAKE_REPORT_FAILURE="1")
    assert broken.returncode == 1
    assert broken.stderr == plain.stderr + "devsan: the report is incomplete: RuntimeError: no such fact\n"


@pytest.mark.parametrize("how", ["devsan run", "DEVSAN_OPTIONS"])
def test_report_and_the_programs_own_hook(front, how):
    hook = "import sys, torch\nold = sys.excepthook\ndef hook(*a):\n    print('own', file=sys.stderr)\n    {last}\n"
    for last, by_variable in (("old(*a)", True), ("pass", False)):
        front.write("hooked.py", hook.format(last=last) + "sys.excepthook = hook\nraise ValueError('v')\n")
        if how == "devsan run":
            done = front.devsan("run", "hooked.py")
            assert done.stderr.endswith("REPORT ValueError at <module>\n")
        else:
            done = front.python("hooked.py", DEVSAN_OPTIONS="gpus=2")
            assert ("REPORT" in done.stderr) == by_variable
        assert done.stderr.startswith("own\n")
        assert done.stderr.count("REPORT") <= 1
        assert done.returncode == 1


def test_no_report_on_an_interrupt_an_exit_or_when_off(front):
    assert "REPORT" not in front.devsan("run", "-c", "raise KeyboardInterrupt").stderr
    assert "REPORT" not in front.devsan("run", "-c", "raise SystemExit('word')").stderr
    assert "REPORT" not in front.devsan("run", "--format=off", "-c", "1 / 0").stderr
    assert "REPORT" not in front.python("-c", "import torch; 1 / 0", DEVSAN_OPTIONS="format=off").stderr


def test_errors_of_devsan_in_the_program_are_the_programs(front):
    done = front.devsan("run", "-c", "import devsan; devsan.emulate(gpus=0)")
    assert done.returncode == 1
    assert "devsan.errors.UsageError: expected 1 to 64 GPUs, got 0" in done.stderr


# End to end: the real core and the real torch, in processes that have nothing of the fake on their path.

core = pytest.mark.skipif(
    importlib.util.find_spec("devsan") is None or importlib.util.find_spec("devsan._core") is None,
    reason="devsan._core is not built: these run the real emulation",
)

COUNTS = """
import os, sys, torch
x = torch.ones(3, device="cuda:1") * 2
print(torch.cuda.device_count(), torch.cuda.get_device_name(1), x.device, x.sum().item(), sys.argv[1:])
"""


def real(front, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("DEVSAN", "TORCH_"))}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=front.folder,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    done.stderr = front.without_closing_line(done.stderr)
    return done


@core
@pytest.mark.parametrize("form", ["script", "module", "code", "command", "variable"])
def test_end_to_end_each_way_in(front, form):
    front.write("counts.py", COUNTS)
    run = ["-m", "devsan", "run", "--gpus", "a100-80g,l4-24g"]
    words = {
        "script": [*run, "counts.py", "a", "--gpus"],
        "module": [*run, "-m", "counts", "a", "--gpus"],
        "code": [*run, "-c", COUNTS, "a", "--gpus"],
        "command": [*run, "--", sys.executable, "counts.py", "a", "--gpus"],
        "variable": ["counts.py", "a", "--gpus"],
    }[form]
    environment = {"DEVSAN_OPTIONS": "gpus=a100-80g,l4-24g"} if form == "variable" else {}
    done = real(front, *words, **environment)
    assert done.stdout == "2 NVIDIA L4 cuda:1 6.0 ['a', '--gpus']\n", done.stderr
    assert (done.stderr, done.returncode) == ("", 0)


@core
def test_end_to_end_properties_are_the_profiles(front):
    from devsan.profiles import find_profile

    code = (
        "import torch; p = torch.cuda.get_device_properties(0); print(p.name, p.total_memory, p.major, p.minor, "
        "p.multi_processor_count, p.L2_cache_size, p.uuid)"
    )
    done = real(front, "-m", "devsan", "run", "--gpus", "t4-16g", "-c", code)
    t4 = find_profile("t4-16g").device(0)
    assert done.stdout.split("\n")[0] == (
        f"{t4.name} {t4.total_memory} {t4.major} {t4.minor} {t4.multi_processor_count} {t4.L2_cache_size} {t4.uuid}"
    ), done.stderr


@core
@pytest.mark.drawn(2)
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_end_to_end_children(front, method):
    front.write(
        "children.py",
        f"""
import torch, torch.multiprocessing as mp
def work(rank, queue):
    queue.put((rank, torch.cuda.device_count()))
if __name__ == "__main__":
    context = mp.get_context({method!r})
    queue = context.Queue()
    workers = [context.Process(target=work, args=(rank, queue)) for rank in range(2)]
    [worker.start() for worker in workers]
    print(sorted(queue.get() for _ in workers))
    [worker.join() for worker in workers]
""",
    )
    done = real(front, "-m", "devsan", "run", "--gpus", "3", "children.py")
    assert done.stdout == "[(0, 3), (1, 3)]\n", done.stderr


@core
def test_end_to_end_torchs_own_sentence_and_then_a_report(front):
    front.write("mixes.py", "import torch\na, b = (torch.ones(2, device=gpu) for gpu in ('cuda:0', 'cuda:1'))\na + b\n")
    done = real(front, "-m", "devsan", "run", "mixes.py")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert "Expected all tensors to be on the same device" in done.stderr
    assert not any("devsan/cli" in line or "runpy" in line for line in lines)
