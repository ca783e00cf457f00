"""Files that the job needs and that are not there, or end too early."""

from __future__ import annotations

import pytest

from devsan.doctor.installed import Installed


@pytest.fixture
def here(empty):
    """A set-up on the machine of the job."""
    empty.installed = Installed(lambda name: None)
    return empty


def told(setup):
    return [(str(each.title), str(each.fixes[0].text)) for each in setup.findings() if each.code == "DV401"]


@pytest.mark.parametrize(
    "launch",
    ["torchrun --nproc-per-node 2 {}", "accelerate launch {}", "deepspeed --num_gpus 2 {} --lr 1", "python -u {}",
     "python -m torch.distributed.run --nproc_per_node=2 {}"],
)  # fmt: skip
def test_a_script_that_is_not_there(here, launch):
    here.launch = launch.format("trian.py")
    (here.folder / "train.py").write_text("")
    assert told(here) == [("there is no script trian.py", "write train.py")]
    (here.folder / "train.py").unlink()
    ((_, fix),) = told(here)
    assert fix == "give the path of an existing file, relative to the folder in which the job starts"


@pytest.mark.parametrize(
    "launch",
    ["torchrun --nproc-per-node=4", "deepspeed --num_gpus 2", "accelerate launch --multi_gpu",
     "python -m torch.distributed.run --nproc_per_node 2"],
)  # fmt: skip
def test_a_launch_without_a_script(here, launch):
    here.launch = launch
    assert told(here) == [("the launch command has no script", "add the script and its arguments to the command")]


@pytest.mark.parametrize(
    "launch",
    ["torchrun --help", "accelerate launch -h", "torchrun -m pkg", "python", "srun", "torchrun --stand train.py",
     "python -m deepspeed.env_report", "python -m accelerate.commands.env"],
)  # fmt: skip
def test_a_launch_that_needs_no_script(here, launch):
    here.launch = launch
    assert told(here) == []


@pytest.mark.parametrize(
    "launch",
    ["torchrun train.py", "torchrun --nproc_per_node=2 -m pkg.train", "torchrun --no_python none.py",
     "env -C elsewhere python none.py", "env --chdir=elsewhere torchrun none.py", "python -c pass", "bash none.sh",
     "python -", "srun python none.py", "accelerate launch train.py --config none.py"],
)  # fmt: skip
def test_a_script_that_is_there_or_is_looked_for_elsewhere(here, launch):
    here.write("train.py", "print(1)\n")
    here.launch = launch
    assert told(here) == []


def test_files_of_another_machine_are_not_looked_for(empty):
    empty.launch = "torchrun /cluster/none.py"
    assert told(empty) == []


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ('{"a": ', "the file ends too early: write the missing value, and } behind it"),
        ('{"zero_optimization": {"stage": 2', "the file ends too early: add the missing }}"),
        ('{"betas": [0.9,\n', "the file ends too early: add the missing ]}"),
        ('{"a": {"b": [1, 2]', "the file ends too early: add the missing }}"),
        ('{"a"', "the file ends too early: write the missing value, and } behind it"),
        ('{"a": "b', "the file ends too early: end the string with a quotation mark, and add the missing }"),
        ("", "write an object, { ... } there"),
        ("[1]", "write an object, { ... } there"),
        ('{"a" 1}', "write a colon after 'a' there"),
        ('{"a": 1 "b": 2}', "write a comma or } there"),
        ('{"a": 1} {', "remove what follows the object"),
    ],
)
def test_what_is_missing_is_said(empty, text, fix):
    empty.launch = ""
    empty.write("ds_config.json", text)
    assert [advice for _, advice in told(empty)] == [fix]


def test_what_json_does_not_read_is_told_of_a_file_that_nobody_knows(empty):
    empty.launch = ""
    empty.write("settings.json", '{"a": 1,}')
    (comma,) = [each for each in empty.findings() if "last entry" in str(each.title)]
    assert (comma.severity, [edit.after for edit in comma.fixes[0].edits]) == ("warning", [""])
