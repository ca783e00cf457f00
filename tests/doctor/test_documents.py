"""Files that cannot be read, YAML, and whose configuration a file is."""

from __future__ import annotations

import pytest

from devsan.doctor.document import MAX_BYTES, read_document
from tests.doctor.conftest import ACCELERATE


@pytest.mark.parametrize(
    ("name", "content", "expected", "got"),
    [
        ("none.json", None, "a configuration file", "no such file"),
        ("latin.json", b'{"a": "\xe4"}', "UTF-8", "a byte that is not UTF-8 at offset 7"),
        ("list.json", b"[1]", "an object, { ... }", "[...]"),
        ("long.json", b"{" + b" " * MAX_BYTES + b"}", "a configuration of at most 4 MiB", "a larger file"),
        ("tab.yaml", b"a:\n\t- b", "YAML", "found character '\\t' that cannot start any token"),
        ("open.yaml", b"a: [1, 2", "YAML", "expected ',' or ']', but got '<stream end>'"),
        ("self.yaml", b"a: &x [*x]", "at most 100 levels", "a value that contains itself"),
        ("zero.yaml", b"a: \x00", "characters that YAML allows", None),
        ("date.yaml", b"a: 2020-99-99", "YAML", None),
    ],
)
def test_what_cannot_be_read_is_an_error_and_not_the_end(tmp_path, name, content, expected, got):
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    document = read_document(str(file))
    assert document.root is None
    assert document.error.expected == expected
    assert got is None or document.error.got == got


def test_a_folder_and_a_file_without_rights(tmp_path):
    assert read_document(str(tmp_path)).error.got == "a folder"
    assert read_document("/proc/self/mem").error is not None


def test_places_in_yaml(tmp_path):
    file = tmp_path / "fsdp.yaml"
    file.write_text(ACCELERATE)
    document = read_document(str(file))
    assert document.kind == "accelerate"
    member = document.at("fsdp_config.fsdp_sharding_strategy")
    assert (member.place.line, member.place.column) == (12, 3)
    assert (member.node.place.column, member.node.place.end_column) == (27, 37)
    assert member.node.value == "FULL_SHARD"


def test_many_aliases_stay_small(tmp_path):
    text = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
    file = tmp_path / "laughs.yaml"
    file.write_text(text)
    document = read_document(str(file))
    assert document.error is None
    assert list(document.root.all_twice()) == []


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("x.json", '{"zero_optimization": {}}', "deepspeed"),
        ("x.json", '{"fp16": {"enabled": true}, "train_batch_size": 1}', "deepspeed"),
        ("x.yaml", "distributed_type: FSDP\nmixed_precision: bf16", "accelerate"),
        ("x.json", '{"transformer_layer_cls_to_wrap": ["GPT2Block"]}', "fsdp"),
        ("package.json", '{"name": "x"}', "unknown"),
    ],
)
def test_whose_it_is(tmp_path, name, text, kind):
    file = tmp_path / name
    file.write_text(text)
    assert read_document(str(file)).kind == kind


def test_what_accelerate_is_given_is_yaml_without_a_suffix(tmp_path):
    file = tmp_path / "deepspeed"
    file.write_text("distributed_type: DEEPSPEED\n")
    assert read_document(str(file), "accelerate").at("distributed_type").node.value == "DEEPSPEED"


@pytest.mark.parametrize(
    ("content", "fix"),
    [
        ({"zero_optimisation": {"stage": 3}}, "write zero_optimization"),
        ({"lr": 1e-4}, "name the file with the launch command or in the script that reads it"),
    ],
)
def test_a_file_that_nobody_knows_is_not_passed_in_silence(empty, content, fix):
    empty.write("settings.json", content)
    (note,) = empty.notes()
    assert (note.code, note.fixes[0].text) == ("DV401", fix)


def test_of_many_files_most_are_of_other_programs(empty):
    for number in range(4):
        empty.write(f"{number}.json", {"lr": 1e-4})
    assert empty.notes() == []


def test_a_script_that_is_no_python_is_an_error(empty):
    empty.write("train.py", "import torch\nmodel = torch.nn.Linear(4, 4\n")
    (found,) = empty.findings()
    assert (found.code, found.severity, found.place.line) == ("DV401", "error", 2)


def test_a_script_that_is_too_long_to_be_read_is_no_error(empty):
    empty.write("train.py", "data = [\n" + "    0,\n" * 400_000 + "]\n")
    assert empty.findings() == []
