"""The DeepSpeed file that an accelerate file names, and that is not there."""

from __future__ import annotations

import base64

import pytest

from devsan.doctor.installed import Installed

FILE = """\
compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config:
  deepspeed_config_file: {}
num_processes: 4
"""
SETTINGS = '{"train_micro_batch_size_per_gpu": 4}'


@pytest.fixture
def here(empty):
    """A set-up on the machine of the job."""
    empty.installed = Installed(lambda name: None)
    (empty.folder / "train.py").write_text("")
    empty.launch = "accelerate launch --config_file configs/deepspeed.yaml train.py"
    (empty.folder / "configs").mkdir()
    return empty


def test_a_file_that_is_not_there(here):
    here.write("configs/deepspeed.yaml", FILE.format("nope.json"))
    (found,) = here.findings()
    assert (found.code, found.title) == ("DV401", "there is no DeepSpeed file nope.json")
    assert (found.place.line, found.place.column) == (4, 26)
    assert found.fixes[0].text == "give the path of an existing file, relative to the folder in which the job starts"


def test_a_file_beside_the_configuration_is_not_looked_for_there(here):
    here.write("configs/deepspeed.yaml", FILE.format("nope.json"))
    (here.folder / "configs/nope.json").write_text(SETTINGS)
    (found,) = here.findings()
    assert found.fixes[0].text == "write configs/nope.json"
    here.write("configs/deepspeed.yaml", FILE.format(found.fixes[0].text.removeprefix("write ")))
    assert here.findings() == []


@pytest.mark.parametrize("named", [f"'{SETTINGS}'", base64.urlsafe_b64encode(SETTINGS.encode()).decode(), "ds.json"])
def test_what_accelerate_reads(here, named):
    (here.folder / "ds.json").write_text(SETTINGS)
    here.write("configs/deepspeed.yaml", FILE.format(named))
    assert [each.title for each in here.findings()] == []


def test_files_of_another_machine_are_not_looked_for(here):
    here.installed = None
    here.write("configs/deepspeed.yaml", FILE.format("/cluster/ds.json"))
    assert here.findings() == []


def test_the_command_line_wins_over_the_file(here):
    here.launch = here.launch.replace("train.py", "--deepspeed_config_file ds.json train.py")
    (here.folder / "ds.json").write_text(SETTINGS)
    here.write("configs/deepspeed.yaml", FILE.format("nope.json"))
    assert here.findings() == []


def test_without_a_launch_command_the_job_may_start_in_any_folder_around(here, monkeypatch):
    here.launch = ""
    here.write("configs/deepspeed.yaml", FILE.format("configs/ds.json"))
    assert [each.title for each in here.findings()] == ["there is no DeepSpeed file configs/ds.json"]
    (here.folder / "configs/ds.json").write_text(SETTINGS)
    monkeypatch.chdir(here.folder / "configs")
    here.files[:] = ["deepspeed.yaml"]
    assert here.findings() == []
