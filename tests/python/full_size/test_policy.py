"""--weights: what a model is loaded from at full size, whatever files are there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import devsan
from devsan.full_size import hollow
from devsan.full_size.policy import is_whole

SIZES = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4,
         "vocab_size": 1024, "dtype": "bfloat16"}  # fmt: skip


def emulated(weights: str) -> Any:
    return devsan.emulate(gpus=1, profile="a100-80g", full_size=True, weights=weights)


def llama(folder: Path) -> Any:
    transformers = pytest.importorskip("transformers")
    transformers.LlamaConfig(architectures=["LlamaForCausalLM"], **SIZES).save_pretrained(folder)
    return transformers.LlamaForCausalLM


def described(kind: Any, folder: Path) -> list[hollow.Described]:
    with torch.device("meta"):
        model = kind(kind.config_class.from_pretrained(folder))
    return [each for each in hollow.described(model, "float16") if each[0] != "lm_head.weight"]


def cut_off(file: Path, tensors: list[hollow.Described]) -> None:
    """A file that has its header and nothing behind it."""
    hollow.write_hollow(str(file), tensors)
    with file.open("r+b") as opened:
        opened.truncate(8 + int.from_bytes(opened.read(8), "little"))


def loading(kind: Any, folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = kind.from_pretrained(folder, output_loading_info=True)[1]
    return told


def test_a_header_is_enough_and_says_what_is_missing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    kind = llama(tmp_path)
    tensors = [*described(kind, tmp_path), ("model.extra", "float16", (4, 4))]
    cut_off(tmp_path / "model.safetensors", tensors)
    with emulated("index"):
        told = loading(kind, tmp_path)
        model = kind.from_pretrained(tmp_path, dtype="auto")
    assert set(told["missing_keys"]) == {"lm_head.weight"} and set(told["unexpected_keys"]) == {"model.extra"}
    assert {each.dtype for each in model.parameters()} == {torch.bfloat16}
    assert f"weights of {tmp_path} are not read; a checkpoint of" in capfd.readouterr().err


def test_an_index_names_what_no_file_describes(tmp_path: Path) -> None:
    kind = llama(tmp_path)
    first, *others = described(kind, tmp_path)
    cut_off(tmp_path / "model-00001-of-00002.safetensors", [first])
    places = {each[0]: "model-00002-of-00002.safetensors" for each in others}
    places[first[0]] = "model-00001-of-00002.safetensors"
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    with emulated("index"):
        assert set(loading(kind, tmp_path)["missing_keys"]) == {"lm_head.weight"}


INDEXES = {
    "model.safetensors.index.json": {},
    "model.safetensors.index.fp16.json": {"variant": "fp16"},
    "pytorch_model.bin.index.json": {},
}


@pytest.mark.parametrize("weights", ["auto", "index"])
@pytest.mark.parametrize("name", INDEXES)
def test_an_index_whose_files_are_absent_says_the_names(
    tmp_path: Path, name: str, weights: str, capfd: pytest.CaptureFixture[str]
) -> None:
    kind = llama(tmp_path)
    names = [each[0].removeprefix("model.") for each in described(kind, tmp_path) if "norm" not in each[0]]
    places = dict.fromkeys([*names, "score.weight"], "model-00001-of-00001.safetensors")  # as the base model is saved
    (tmp_path / name).write_text(json.dumps({"metadata": {}, "weight_map": places}))
    with emulated(weights):
        told = kind.from_pretrained(tmp_path, output_loading_info=True, **INDEXES[name])[1]
    assert {"lm_head.weight", "model.norm.weight"} < set(told["missing_keys"])
    assert all("norm" in each or each == "lm_head.weight" for each in told["missing_keys"])
    assert set(told["unexpected_keys"]) == {"score.weight"}
    assert capfd.readouterr().err.count("without numbers takes their place") == 1


def test_what_a_checkpoint_has_in_parts_is_one_in_the_model(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", "5")
    sizes = {**SIZES, "num_local_experts": 2, "num_key_value_heads": 2, "num_hidden_layers": 1}
    kind = transformers.MixtralForCausalLM
    config = transformers.MixtralConfig(**sizes)
    kind(config).save_pretrained(tmp_path)
    [file] = tmp_path.glob("*.safetensors")
    places = dict.fromkeys((each[0] for each in hollow.read_header(str(file))[0]), "model-00001-of-00001.safetensors")
    assert any("experts.1" in name for name in places)
    file.unlink()
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    with emulated("auto"):
        told = loading(kind, tmp_path)
    assert not told["missing_keys"] and not told["unexpected_keys"]


def test_a_configuration_is_no_index(tmp_path: Path) -> None:
    kind = llama(tmp_path)
    with emulated("index"), pytest.raises(OSError, match="no file named"):
        kind.from_pretrained(tmp_path)


def in_transformers(folder: Path) -> Any:
    kind = llama(folder)
    return lambda: kind.from_pretrained(folder)


def in_accelerate(folder: Path) -> Any:
    accelerate = pytest.importorskip("accelerate")
    (folder / "config.json").write_text("{}")
    return lambda: accelerate.load_checkpoint_in_model(torch.nn.Linear(512, 512), folder, device_map={"": 0})


def in_diffusers(folder: Path) -> Any:
    diffusers = pytest.importorskip("diffusers")
    with torch.device("meta"):
        diffusers.AutoencoderKL(block_out_channels=(32, 32), down_block_types=("DownEncoderBlock2D",) * 2,
                                up_block_types=("UpDecoderBlock2D",) * 2).save_config(folder)  # fmt: skip
    return lambda: diffusers.AutoencoderKL.from_pretrained(folder)


def in_peft(folder: Path) -> Any:
    peft = pytest.importorskip("peft")
    peft.LoraConfig(r=4, target_modules=["0"], base_model_name_or_path="none").save_pretrained(folder)
    return lambda: peft.PeftModel.from_pretrained(torch.nn.Sequential(torch.nn.Linear(512, 512)), folder)


LIBRARIES = [(in_transformers, "model"), (in_accelerate, "model"), (in_diffusers, "diffusion_pytorch_model"),
             (in_peft, "adapter_model")]  # fmt: skip


@pytest.mark.parametrize(("library", "start"), LIBRARIES)
def test_no_file_is_opened_where_none_is_wanted(
    tmp_path: Path, library: Callable[[Path], Any], start: str, capfd: pytest.CaptureFixture[str]
) -> None:
    load = library(tmp_path)
    (tmp_path / f"{start}.safetensors").write_text("version https://git-lfs.github.com/spec/v1")
    with emulated("none"):
        load()
    assert capfd.readouterr().err.count(f"weights of {tmp_path} are not read; a checkpoint of") == 1


@pytest.mark.parametrize("weights", ["index", "real"])
@pytest.mark.parametrize(("library", "start"), LIBRARIES)
def test_weights_that_are_wanted_are_missed(
    tmp_path: Path, library: Callable[[Path], Any], start: str, weights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(hub, "HF_HUB_OFFLINE", True)
    load = library(tmp_path)
    with emulated(weights), pytest.raises((OSError, ValueError)):
        load()


def test_a_file_that_is_cut_off_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    kind = llama(tmp_path)
    file = tmp_path / "model.safetensors"
    cut_off(file, [("wide", "float16", (1 << 15, 1 << 15))])
    safetensors = pytest.importorskip("safetensors.torch")
    with emulated("auto"):
        for load in (lambda: kind.from_pretrained(tmp_path), lambda: safetensors.load_file(file)):
            with pytest.raises(Exception, match="incomplete metadata"):
                load()
            assert f"{file} is cut off: 2 GiB by its header, " in capfd.readouterr().err
        file.write_text("version https://git-lfs.github.com/spec/v1")
        with pytest.raises(Exception, match="header too large"):
            safetensors.load_file(file)
    assert f"{file} stands for a file that Git LFS has not fetched" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["model.safetensors", "model.safetensors.index.json"])
def test_a_relative_name_is_that_of_a_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ckpt").mkdir()
    (tmp_path / "ckpt" / name).write_text('{"weight_map": {"weight": "part.safetensors"}}')
    (tmp_path / "ckpt" / "part.safetensors").touch()
    monkeypatch.chdir(tmp_path)
    assert is_whole(f"ckpt/{name}")
    (tmp_path / "ckpt" / "part.safetensors").unlink()
    assert is_whole(f"ckpt/{name}") == (not name.endswith(".json"))
