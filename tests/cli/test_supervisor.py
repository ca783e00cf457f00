"""devsan run -- command: what a shell would see of the command it sees of devsan."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_temporary_folder(front, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("temporary")
    front.environment["TMPDIR"] = str(folder)
    # A path on which devsan counts as installed, with the entry point that pip would write.
    front.write("site/devsan-0.dist-info/METADATA", "Metadata-Version: 2.1\nName: devsan\nVersion: 0\n")
    front.write("site/devsan-0.dist-info/entry_points.txt", "[torch.backends]\ndevsan = devsan.autoload:load\n")
    front.environment["PYTHONPATH"] += f"{os.pathsep}{front.folder / 'site'}"
    return folder


def start(front, *words: str, ignored: bool = False) -> subprocess.Popen[str]:
    """Starts devsan run with every signal ignored, or none, whatever these tests were started with."""
    return subprocess.Popen(
        [sys.executable, "-m", "devsan", "run", "-q", "--", *words], cwd=front.folder, env=front.environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: inherit(ignored),
    )  # fmt: skip


def inherit(ignored: bool) -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN if ignored else signal.SIG_DFL)


@pytest.mark.parametrize("code", [0, 1, 3, 255])
def test_the_exit_code_is_the_commands(front, code):
    done = front.devsan("run", "-q", "--", "sh", "-c", f"echo out; echo err >&2; exit {code}")
    assert (done.returncode, done.stdout, done.stderr) == (code, "out\n", "err\n")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGINT])
def test_the_signal_is_the_commands(front, number):
    process = start(front, "sh", "-c", f"kill -{number.value} $$")
    assert (*process.communicate(timeout=30), process.returncode) == ("", "", -number)


def test_standard_input_is_the_commands(front):
    done = subprocess.run([sys.executable, "-m", "devsan", "run", "-q", "--", "cat"], cwd=front.folder,
                          env=front.environment, input="text", capture_output=True, text=True, timeout=60)  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "text", "")


def test_a_command_beside_the_python_of_an_environment_that_is_not_activated(front):
    (front.folder / "environment" / "bin").mkdir(parents=True)
    python = front.folder / "environment" / "bin" / "python"
    python.symlink_to(sys.executable)
    command = front.folder / front.write("environment/bin/launch-ranks", '#!/bin/sh\necho "$@"\n')
    command.chmod(0o755)
    words = ["-m", "devsan", "run", "-q", "--", "launch-ranks", "--nproc-per-node", "2"]
    done = subprocess.run([python, *words], cwd=front.folder, env=front.environment, capture_output=True, text=True,
                          timeout=60)  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "--nproc-per-node 2\n", "")
    done = front.devsan(*words[2:])
    assert (done.returncode, done.stderr) == (2, "devsan: expected a command on PATH, got 'launch-ranks'\n")


def test_a_command_that_cannot_be_started(front):
    path = front.folder / front.write("command", "\x7fELF no program")
    path.chmod(0o755)
    done = front.devsan("run", "-q", "--", str(path))
    assert done.returncode == 2
    assert done.stderr == f"devsan: expected a command that can be started, got {str(path)!r}: Exec format error\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_is_passed_on(front, number):
    """The command decides what it does with it."""
    name = number.name.removeprefix("SIG")
    program = f"trap 'echo got {name}; exit 5' {name}; echo ready; while :; do sleep 0.05; done"
    process = start(front, "sh", "-c", program)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    out, error = process.communicate(timeout=30)
    assert (process.returncode, out, error) == (5, f"got {name}\n", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_that_is_ignored_ends_neither(front, number):
    """As under nohup: the shell keeps what it inherits, and so does devsan."""
    process = start(front, "sh", "-c", "echo ready; read line; exit 5", ignored=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    out, error = process.communicate("line\n", timeout=30)
    assert (process.returncode, out, error) == (5, "", "")


DISPOSITIONS = """
import pathlib, sys
lines = pathlib.Path("/proc/self/status").read_text().splitlines()
print(*(line for line in lines if line.startswith(("SigBlk", "SigIgn"))))
sys.exit(3)
"""


@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("form", ["script", "command"])
def test_a_program_inherits_the_signals_that_devsan_inherits(front, form, ignored):
    """Every signal there is, ignored or not; python itself decides on two of them."""
    front.write("program.py", DISPOSITIONS)
    direct = [sys.executable, "program.py"]

    def outcome(words: list[str]) -> tuple[str, str, int]:
        process = subprocess.Popen(
            words, cwd=front.folder, env=front.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: inherit(ignored),
        )  # fmt: skip
        return (*process.communicate(timeout=60), process.returncode)

    started = {"script": ["program.py"], "command": ["--", *direct]}[form]
    expected = outcome(direct)
    assert expected[2] == 3 and "SigIgn" in expected[0], expected
    assert outcome([sys.executable, "-m", "devsan", "run", *started]) == expected


def test_a_command_meets_a_closed_pipe_as_it_does_without_devsan(front):
    """python ignores SIGPIPE for itself; a command in a shell's pipeline ends by it, in silence."""
    process = start(front, "sh", "-c", "yes | head -n 1")
    assert (*process.communicate(timeout=30), process.returncode) == ("y\n", "", 0)


def test_the_terminals_interrupt_reaches_the_command_once(front):
    """A Ctrl-C goes to all in front of the terminal: devsan waits for what the command makes of it."""
    import pty

    program = "import signal, time\ncount = []\nsignal.signal(signal.SIGINT, lambda *_: count.append(1))\n"
    program += "print('ready', flush=True)\ntime.sleep(0.7)\nprint(len(count), flush=True)\n"
    front.write("command.py", program)
    words = [sys.executable, "-m", "devsan", "run", "-q", "--", sys.executable, "command.py"]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(front.folder)
        os.execve(sys.executable, words, front.environment)
    said = b""
    interrupted = False
    try:
        while chunk := os.read(terminal, 1024):
            said += chunk
            if b"ready" in said and not interrupted:
                interrupted = True
                os.write(terminal, b"\x03")
    except OSError:  # the other side has gone
        pass
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert said.decode().replace("^C", "").split() == ["ready", "1"]


def test_a_killed_devsan_takes_the_command_along(front):
    """It may be told more than once: each thread of devsan's that ends before the last hands it on to another (see
    forget_original_parent in Linux' kernel/exit.c)."""
    waits = "n=0; while [ $n -lt 1200 ]; do sleep 0.05; n=$((n + 1)); done"
    process = start(front, "sh", "-c", f"trap 'echo told to end; exit' TERM; echo ready; {waits}")
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.kill()
    assert process.stdout.readline() == "told to end\n"  # "": it waited in vain, and ended by itself
    assert process.wait() == -signal.SIGKILL
    assert set(process.communicate()[0].splitlines()) <= {"told to end"}


def test_the_command_is_a_job_with_a_folder_that_goes(front, own_temporary_folder):
    done = front.devsan("run", "-q", "--", "sh", "-c", 'test -d "$DEVSAN_JOB" && echo "$DEVSAN_JOB"')
    assert done.returncode == 0
    assert Path(done.stdout.strip()).parent == own_temporary_folder
    assert list(own_temporary_folder.iterdir()) == []


def test_a_launch_within_a_launch_is_a_job_of_its_own(front):
    again = f"{sys.executable} -m devsan run -- sh -c 'echo $DEVSAN_JOB'"
    done = front.devsan("run", "-q", "--", "sh", "-c", f"echo $DEVSAN_JOB; {again}", DEVSAN_JOB="/none")
    assert done.returncode == 0, done.stderr
    outer, inner = done.stdout.splitlines()
    assert outer and inner and len({outer, inner, "/none"}) == 3


def test_without_a_place_for_temporary_files(front):
    done = front.devsan(
        "run", "-q", "--", "sh", "-c", "exit 4", TMPDIR="/proc/none", TEMP="/proc/none", TMP="/proc/none"
    )
    assert done.returncode == 4


def test_a_script_leaves_nothing(front, own_temporary_folder):
    front.write("script.py", "import os; print(os.path.isdir(os.environ['DEVSAN_JOB']))")
    start_time = time.monotonic()
    done = front.devsan("run", "script.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
    assert time.monotonic() - start_time < 30
    assert list(own_temporary_folder.iterdir()) == []
