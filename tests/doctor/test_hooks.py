"""The pre-commit hook and the GitHub Action: what they run is what the command understands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from devsan.cli.doctor import DoctorCommand

ROOT = Path(__file__).parents[2]
[HOOK] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def test_the_hook_runs_a_command_that_is_understood(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    words = HOOK["entry"].split()
    assert words[:2] == ["devsan", "doctor"]
    assert callable(DoctorCommand().prepare([*words[2:], "ds_config.json", "train.py", "fsdp.yaml"]))


@pytest.mark.parametrize(
    ("name", "taken"),
    [("ds_config.json", True), ("configs/deepspeed_z3.json", True), ("accelerate_fsdp.yaml", True),
     ("src/train.py", True), ("zero3.json", True), ("package.json", False), ("docs/index.md", False),
     ("mkdocs.yml", False)],
)  # fmt: skip
def test_which_files_the_hook_takes(name, taken):
    assert bool(re.search(HOOK["files"], name)) is taken


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"FILES": "ds.json src/", "LAUNCH": "", "MACHINE": "false"}, "doctor|--no-machine|ds.json|src/|"),
        ({"FILES": "ds.json", "LAUNCH": "torchrun --nproc_per_node=8 t.py", "MACHINE": "true"},
         "doctor|ds.json|--|torchrun|--nproc_per_node=8|t.py|"),
        ({"FILES": "$(touch broken) `touch broken` ;touch broken", "LAUNCH": "", "MACHINE": "true"},
         "doctor|$(touch|broken)|`touch|broken`|;touch|broken|"),
    ],
)  # fmt: skip
def test_what_the_action_runs(tmp_path, inputs, words):
    assert set(ACTION["inputs"]) == {"files", "launch", "machine", "sarif", "version"}
    script = ACTION["runs"]["steps"][1]["run"]
    assert "${{" not in script  # inputs are variables, never text of the script
    tool = tmp_path / "devsan"
    tool.write_text('#!/bin/sh\nfor word; do printf "%s|" "$word"; done\necho\n')
    tool.chmod(0o755)
    environment = {**os.environ, "SARIF": "", **inputs, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=tmp_path, env=environment, capture_output=True,
                          text=True, timeout=20)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    annotated, printed = done.stdout.splitlines()
    assert printed == words and annotated == words.replace("doctor|", "doctor|--format|github|", 1)
    assert not (tmp_path / "broken").exists()


def test_the_guide_names_no_address_that_does_not_exist():
    guide = (ROOT / "docs/guide/doctor.md").read_text(encoding="utf-8")
    assert "<owner>" not in guide
    taken, own = (yaml.safe_load(text)["repos"][0] for text in re.findall(r"^```yaml\n(repos:.*?)^```$", guide,
                                                                          re.DOTALL | re.MULTILINE))  # fmt: skip
    assert [hook["id"] for hook in taken["hooks"]] == [HOOK["id"]]
    (hook,) = own["hooks"]
    assert own["repo"] == "local"
    assert hook == {name: HOOK[name] for name in hook}


@pytest.mark.frameworks
def test_pre_commit_runs_the_hook_of_a_clone(tmp_path, monkeypatch):
    """As the guide says: ``pre-commit try-repo`` with a folder; git makes the clone, and nothing is fetched."""
    pytest.importorskip("pre_commit", reason="pre-commit is not installed: it is what takes the hook")
    if not (ROOT / ".git").exists():
        pytest.skip("not in a clone of DevSan's repository: pre-commit takes hooks from git only")
    folder = tmp_path / "user"
    (folder / "bin").mkdir(parents=True)
    tool = folder / "bin/devsan"
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m devsan "$@"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "cache"))
    pairs = ROOT / "tests/doctor/source/pairs"
    for name in ("works", "fails"):
        (folder / f"{name}.py").write_text((pairs / f"two_towers_{name}.py").read_text())
    subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=30)
    subprocess.run(["git", "add", "works.py", "fails.py"], cwd=folder, check=True, timeout=30)
    for name, code in (("works", 0), ("fails", 1)):
        words = [sys.executable, "-m", "pre_commit", "try-repo", str(ROOT), HOOK["id"], "--files", f"{name}.py"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == code, done.stdout + done.stderr
        assert ("error[DV101]" in done.stdout) is bool(code)
