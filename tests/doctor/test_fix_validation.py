"""Fixes of configurations: the text keeps its formatting and comments, reads again, and the fault is gone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devsan.cli.main import main
from devsan.diagnostics.diagnostic import Edit, Place
from devsan.doctor.check import check
from devsan.doctor.document import parse_document
from devsan.doctor.findings import finding
from devsan.doctor.fix_validation import FixedFile, fixed_files
from tests.doctor.conftest import ACCELERATE

COMMENTED = """\
{
    // four GPUs
    "train_batch_size": 64,
    "train_micro_batch_size_per_gpu": 4,   # each
    "gradient_acumulation_steps": 8,
    "sparse_gradients": true,
    "optimizer": {"type": "AdamW", "params": {
        "lr": 1e-4,
        "max_grad_norm": 1.0
    }},
    "zero_optimization": {
        "stage": 3,
        "cpu_offload": true,
        "reduce_bucket_size": "5e8",
        "stage3_gather_fp16_weights_on_model_save": true
    }
}
"""
MENDED = """\
{
    // four GPUs
    "train_batch_size": 64,
    "gradient_clipping": 1.0,
    "train_micro_batch_size_per_gpu": 4,   # each
    "gradient_accumulation_steps": 8,
    "optimizer": {"type": "AdamW", "params": {
        "lr": 1e-4
    }},
    "zero_optimization": {
        "stage": 3,
        "offload_optimizer": {"device": "cpu"},
        "reduce_bucket_size": 500000000,
        "stage3_gather_16bit_weights_on_model_save": true
    }
}
"""


def amended(setup, unsafe: bool = False) -> str:
    case = setup.case()
    made, notes = fixed_files(case, check(case), unsafe)
    assert notes == []
    assert len(made) == 1
    return made[0].after


def test_keeps_what_it_does_not_fix(empty):
    empty.launch = "torchrun --nproc_per_node=2 train.py"
    empty.write("ds_config.json", COMMENTED)
    assert amended(empty) == MENDED
    empty.write("ds_config.json", MENDED)
    assert not [finding for finding in empty.findings() if finding.code != "DV401"]  # the comments


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("debug: false", "debgu: false  # why", "debug: false  # why"),
        ("mixed_precision: bf16", "mixed_precision: 'bf61'", "mixed_precision: 'bf16'"),
        ("fsdp_sharding_strategy: FULL_SHARD", "fsdp_sharding_strategy: FULL_SHRAD",
         "fsdp_sharding_strategy: FULL_SHARD"),
        ("fsdp_offload_params: false", "fsdp_ofload_params: false", "fsdp_offload_params: false"),
        ("num_processes: 4", "num_processes: 4\ngpu_ids: 0,1", "num_processes: 2\ngpu_ids: 0,1"),
        ("distributed_type: FSDP", "distributed_type: FSPD", "distributed_type: FSDP"),
    ],
)  # fmt: skip
def test_fixes_yaml(empty, old, new, wanted, end):
    empty.launch = "accelerate launch --config_file fsdp.yaml train.py"
    assert ACCELERATE.count(old) == 1
    broken, whole = (ACCELERATE.replace(old, text).replace("\n", end) for text in (new, wanted))
    (empty.folder / "fsdp.yaml").write_bytes(broken.encode())
    empty.files.append("fsdp.yaml")
    assert amended(empty) == whole


def test_writes_what_the_trainer_wants(deepspeed, changed):
    deepspeed.write("ds_config.json", changed({"train_micro_batch_size_per_gpu": 2, "optimizer.params.lr": 3e-4}))
    assert json.loads(amended(deepspeed)) == changed({})


def test_gathers_what_is_saved(deepspeed, changed):
    for value in (False, ...):
        deepspeed.write(
            "ds_config.json", changed({"zero_optimization.stage3_gather_16bit_weights_on_model_save": value})
        )
        assert json.loads(amended(deepspeed)) == changed({})


def test_batch_size_is_computed_and_written(empty):
    empty.launch = "torchrun --nproc_per_node=4 train.py"
    empty.write("ds_config.json", '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, '
                                  '"gradient_accumulation_steps": 8}')  # fmt: skip
    assert amended(empty).startswith('{"train_batch_size": 128, ')


@pytest.mark.parametrize(("text", "after"), [('{"bf16": {"enabled": true},}', '{"bf16": {"enabled": true}}')])
def test_commas_too_many_go(empty, text, after):
    empty.launch = ""
    empty.write("ds_config.json", text)
    assert amended(empty, unsafe=True) == after


def test_what_may_be_meant_is_shown_and_not_written(deepspeed, changed):
    deepspeed.write("ds_config.json", changed({"zero_optimization.offload_param.pin_memory": False}))
    case = deepspeed.case()
    assert fixed_files(case, check(case), False) == ([], [])
    assert json.loads(amended(deepspeed, unsafe=True)) == changed({})


@pytest.mark.parametrize(
    ("after", "why"),
    [
        ('"off', "the file would no longer read"),
        ("0", "the fault would stay"),
        ('"auto", "zero_optimization": {"stage": 9}', "DV410 would come"),
    ],
)
def test_a_fix_that_does_not_hold_is_refused(empty, after, why):
    empty.launch = ""
    empty.write("ds_config.json", '{\n  "train_batch_size": -8\n}')
    (fault,) = empty.findings()
    place = Place("ds_config.json", 2, 23, 2, 25)
    bad = finding(fault.code, fault.title, place, (), "", (Edit(place, "-8", after),))
    title = fault.title if after != "0" else "train_batch_size is 0, expected a positive integer"
    bad = bad if after != "0" else finding(fault.code, title, place, (), "", (Edit(place, "-8", after),))
    made, notes = fixed_files(empty.case(), [bad], False)
    assert made == []
    assert len(notes) == 1 and why in notes[0]


def test_a_file_that_has_changed_is_left_alone(tmp_path: Path):
    path = tmp_path / "ds_config.json"
    path.write_text("{}")
    with pytest.raises(OSError, match="changed since"):
        FixedFile(str(path), '{"a": 1}', '{"a": 2}').write()
    assert path.read_text() == "{}"
    assert [each.name for each in tmp_path.iterdir()] == ["ds_config.json"]


def test_on_the_command_line(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ds_config.json"
    path.write_text(COMMENTED)
    path.chmod(0o640)
    words = ["ds_config.json", "--", "torchrun", "--nproc_per_node=2", "train.py"]
    assert main(["doctor", "--diff", *words]) == 1
    shown = capsys.readouterr().out
    assert '-    "gradient_acumulation_steps": 8,' in shown and '+    "gradient_accumulation_steps": 8,' in shown
    assert path.read_text() == COMMENTED
    main(["doctor", "--fix", *words])
    assert "fixed ds_config.json" in capsys.readouterr().err
    # sparse_gradients: without knowing which DeepSpeed is installed, it is only shown.
    assert path.read_text() == MENDED.replace('    "optimizer"', '    "sparse_gradients": true,\n    "optimizer"')
    assert path.stat().st_mode & 0o777 == 0o640
    assert parse_document("ds_config.json", path.read_text(), False).root is not None


def test_what_the_launch_command_names_is_fixed_and_what_the_script_names_is_not(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ds_config.json"
    path.write_text(COMMENTED)
    (tmp_path / "train.py").write_text('import deepspeed\ndeepspeed.initialize(config="ds_config.json")\n')
    main(["doctor", "--fix", "--", "torchrun", "--nproc_per_node=2", "train.py"])
    assert "ds_config.json: name it on the command line to have it fixed" in capsys.readouterr().err
    assert path.read_text() == COMMENTED
    main(["doctor", "--fix", "--", "torchrun", "--nproc_per_node=2", "train.py", "--deepspeed", "ds_config.json"])
    assert "fixed ds_config.json" in capsys.readouterr().err
    assert "gradient_accumulation_steps" in path.read_text()


def test_a_number_in_quotes_and_a_comma_beside_a_comment(empty):
    empty.launch = ""
    empty.write("ds_config.json", '{\n  // four GPUs\n  "train_batch_size": 8,\n  "gradient_clipping": "1.0",\n'
                                  '  "zero_optimization": {"stage": 2, "sub_group_size": "1e9",},\n}\n')  # fmt: skip
    assert amended(empty) == ('{\n  // four GPUs\n  "train_batch_size": 8,\n  "gradient_clipping": 1.0,\n'
                              '  "zero_optimization": {"stage": 2, "sub_group_size": 1000000000}\n}\n')  # fmt: skip
