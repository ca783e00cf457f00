"""devsan run --gpus real: nothing is emulated, errors are explained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from devsan.errors import UsageError
from devsan.options import Options, read_variable


def test_the_program_runs_as_it_is_and_its_error_is_reported(front: Any) -> None:
    front.write(
        "script.py",
        "import os, sys\nassert 'torch' not in sys.modules\nprint(os.environ['DEVSAN_OPTIONS'], sys.argv)\n"
        "import torch\ndef f():\n    raise KeyError('x')\nf()\n",
    )
    done = front.devsan("run", "--gpus", "real", "script.py", "--lr", "1")
    assert done.returncode == 1
    assert done.stdout == "gpus=real ['script.py', '--lr', '1']\n"
    assert done.stderr.endswith("KeyError: 'x'\nREPORT KeyError at <module>\n")
    assert front.log() == []


def test_report_off(front: Any) -> None:
    front.write("script.py", "1 / 0\n")
    done = front.devsan("run", "--gpus=real", "--format=off", "script.py")
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_it_wins_over_emulated_gpus_of_the_environment(front: Any) -> None:
    front.write("script.py", "import os, torch\nprint(os.environ['DEVSAN_OPTIONS'])\n")
    done = front.devsan("run", "--gpus=real", "script.py", DEVSAN_OPTIONS="gpus=4:memory=1GiB:profile=l4-24g")
    assert (done.stdout, done.stderr, front.log()) == ("gpus=real\n", "", [])
    done = front.devsan("run", "--gpus=2", "script.py", DEVSAN_OPTIONS="gpus=real")
    assert (done.stdout, done.stderr) == ("gpus=2\n", "")


def test_the_environment_alone(front: Any) -> None:
    front.write("script.py", "import torch\n1 / 0\n")
    done = front.python("script.py", DEVSAN_OPTIONS="gpus=real")
    assert done.stderr.endswith("ZeroDivisionError: division by zero\nREPORT ZeroDivisionError at <module>\n")
    assert front.log() == []


def test_options() -> None:
    options = read_variable("gpus=real")
    assert (options.devices(), options.to_variable()) == ((), "gpus=real")
    assert len(options.updated({"gpus": "3"}).devices()) == 3
    assert Options().updated({"gpus": "4:l4-24g", "memory": "1GiB"}).updated({"gpus": "real"}).devices() == ()
    with pytest.raises(UsageError, match=r"expected gpus=real without memory, which is for emulated GPUs, got both"):
        read_variable("gpus=real:memory=1GiB").devices()


def test_nothing_to_emulate() -> None:
    import devsan

    with pytest.raises(UsageError, match=r"expected GPUs to emulate, got gpus=real; did you mean devsan.install\(\)\?"):
        devsan.emulate(gpus="real")


def test_where_cmake_finds_the_headers(front: Any) -> None:
    done = front.devsan("--cmake-prefix")
    assert (done.returncode, done.stderr) == (0, "")
    folder = done.stdout.rstrip("\n")
    assert (Path(folder) / "devsan" / "devsanConfig.cmake").is_file()
