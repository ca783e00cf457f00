"""``devsan env``: what a bug report needs, and nothing about whose machine it is."""

from __future__ import annotations

import getpass
import importlib.metadata
import platform
import sys


def test_versions_without_names(front):
    secret = "hf_" + "a1B2" * 8
    done = front.devsan("env", HOME="/home/somebody", NCCL_TOPO_FILE="/home/somebody/secret/topo.xml", HF_TOKEN=secret,
                        NCCL_DEBUG_FILE=secret, MASTER_ADDR="10.1.2.3")  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert (lines[0], lines[-1]) == ("```text", "```")
    assert all(len(line) <= 80 for line in lines)
    for known in ("devsan ", "Python", platform.python_version(), "torch ", "packages", "MASTER_ADDR=ADDRESS", "TOKEN"):
        assert known in done.stdout
    for own in ("somebody", "10.1.2.3", secret, str(front.folder), platform.node(), sys.executable):
        assert own not in done.stdout, own
    user = getpass.getuser()
    assert len(user) < 2 or f" {user} " not in done.stdout


def test_the_versions_agree(front):
    said = front.devsan("--version").stdout
    assert said == front.devsan("version").stdout
    assert said.startswith(f"devsan {importlib.metadata.version('devsan')} (core for torch ")
    words = said.removeprefix("devsan ").split()
    assert words == front.devsan("env").stdout.partition("devsan ")[2].split()[: len(words)]


def test_the_chinese(front):
    assert "系统" in front.devsan("env", "--lang", "zh", PYTHONIOENCODING="utf-8").stdout
