"""Weights that are not there, of diffusers, accelerate and PEFT: what describes them is enough at full size."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

import devsan

GIB = 2**30


class Layers(torch.nn.Module):
    def __init__(self, width: int = 1024) -> None:
        super().__init__()
        self.first = torch.nn.Linear(width, width)
        self.second = torch.nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> Any:
        return self.second(self.first(x))


@contextmanager
def full_size(gpus: int = 1) -> Iterator[None]:
    with devsan.emulate(gpus=gpus, profile="a100-80g", full_size=True):
        yield


def lines(capfd: pytest.CaptureFixture[str]) -> list[str]:
    return [line for line in capfd.readouterr().err.splitlines() if "has no weights" in line]


def unet(folder: Path, **sizes: Any) -> Any:
    diffusers = pytest.importorskip("diffusers")
    sizes = {"block_out_channels": (32, 64), "cross_attention_dim": 64, "attention_head_dim": 8} | sizes
    with torch.device("meta"):
        diffusers.UNet2DConditionModel(
            down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
            up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), **sizes,
        ).save_config(folder)  # fmt: skip
    return diffusers


def autoencoder(diffusers: Any, folder: Path) -> None:
    with torch.device("meta"):
        diffusers.AutoencoderKL(block_out_channels=(32, 32), down_block_types=("DownEncoderBlock2D",) * 2,
                                up_block_types=("UpDecoderBlock2D",) * 2).save_config(folder)  # fmt: skip


def test_a_unet_needs_its_configuration(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    diffusers = unet(tmp_path, block_out_channels=(1280, 2560), cross_attention_dim=768)
    with full_size():
        model = diffusers.UNet2DConditionModel.from_pretrained(tmp_path, torch_dtype=torch.float16).to("cuda")
        size = sum(each.nbytes for each in model.parameters())
        assert size > GIB and {each.dtype for each in model.parameters()} == {torch.float16}
        assert size <= torch.cuda.memory_allocated() < size + GIB // 8
        out = model(torch.randn(1, 4, 64, 64, device="cuda").half(), 7, torch.randn(1, 77, 768, device="cuda").half())
        assert out.sample.shape == (1, 4, 64, 64)
    assert len(told := lines(capfd)) == 1 and f"{tmp_path} has no weights; a checkpoint of" in told[0]


def test_a_pipeline_needs_the_configurations_of_its_parts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    diffusers = unet(tmp_path / "unet", sample_size=8)
    transformers = pytest.importorskip("transformers")
    autoencoder(diffusers, tmp_path / "vae")
    diffusers.DDIMScheduler(steps_offset=1, clip_sample=False).save_config(tmp_path / "scheduler")
    text = transformers.CLIPTextConfig(hidden_size=64, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4,
                                       architectures=["CLIPTextModel"])  # fmt: skip
    text.save_pretrained(tmp_path / "text_encoder")
    parts = {"unet": ["diffusers", "UNet2DConditionModel"], "vae": ["diffusers", "AutoencoderKL"],
             "scheduler": ["diffusers", "DDIMScheduler"], "text_encoder": ["transformers", "CLIPTextModel"],
             "tokenizer": [None, None], "safety_checker": [None, None], "feature_extractor": [None, None],
             "image_encoder": [None, None]}  # fmt: skip
    index = {"_class_name": "StableDiffusionPipeline", "requires_safety_checker": False, **parts}
    (tmp_path / "model_index.json").write_text(json.dumps(index))
    with full_size():
        pipeline = diffusers.DiffusionPipeline.from_pretrained(tmp_path, tokenizer=None).to("cuda")
        words = torch.randn(1, 77, 64, device="cuda")
        image = pipeline(prompt_embeds=words, negative_prompt_embeds=words, num_inference_steps=2, output_type="pt")
        assert image.images.shape[:2] == (1, 3)
    told = lines(capfd)
    assert len(told) == 3 and all(sum(f"/{part} has" in line for line in told) == 1
                                  for part in ("unet", "vae", "text_encoder"))  # fmt: skip


def test_a_model_of_several_files_needs_none_of_them(tmp_path: Path) -> None:
    kind = unet(tmp_path).UNet2DConditionModel
    with torch.device("meta"):
        names = list(kind.from_config(kind.load_config(tmp_path)).state_dict())
    index = {
        "metadata": {},
        "weight_map": dict.fromkeys(names[1:], "diffusion_pytorch_model-00001-of-00002.safetensors"),
    }
    (tmp_path / "diffusion_pytorch_model.safetensors.index.json").write_text(json.dumps(index))
    with full_size():
        model, told = kind.from_pretrained(tmp_path, output_loading_info=True)
    assert told["missing_keys"] == names[:1]
    assert not any(each.is_meta for name, each in model.named_parameters() if name in names[1:])


def test_weights_of_diffusers_that_are_there_are_loaded(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    diffusers = unet(tmp_path)
    kind = diffusers.UNet2DConditionModel
    kind.from_config(kind.load_config(tmp_path)).save_pretrained(tmp_path)
    with full_size():
        kind.from_pretrained(tmp_path)
        with pytest.raises(OSError, match="no file named"):
            kind.from_pretrained(tmp_path, variant="fp16")
    assert not lines(capfd)


def write_index(folder: Path, *names: str) -> None:
    places = {name: f"model-0000{number}-of-00002.safetensors" for number, name in enumerate(names)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))


ALL = ("first.weight", "first.bias", "second.weight", "second.bias")


@pytest.mark.long
def test_accelerate_needs_an_index(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    accelerate = pytest.importorskip("accelerate")
    write_index(tmp_path, *ALL)
    with full_size(gpus=2):
        with accelerate.init_empty_weights():
            model = Layers(16384)
        model = accelerate.load_checkpoint_and_dispatch(
            model, str(tmp_path), device_map={"first": 0, "second": 1}, dtype=torch.bfloat16
        )
        assert [each.weight.device.index for each in (model.first, model.second)] == [0, 1]
        assert torch.cuda.memory_allocated(0) >= model.first.weight.nbytes == GIB // 2
        assert model(torch.randn(2, 16384, device="cuda", dtype=torch.bfloat16)).shape == (2, 16384)
    assert len(lines(capfd)) == 1


@pytest.mark.parametrize("with_map", [True, False])
@pytest.mark.long
def test_accelerate_needs_a_configuration(tmp_path: Path, with_map: bool, capfd: pytest.CaptureFixture[str]) -> None:
    accelerate = pytest.importorskip("accelerate")
    (tmp_path / "config.json").write_text("{}")
    with full_size():
        model = Layers()
        accelerate.load_checkpoint_in_model(model, tmp_path, device_map={"": 0} if with_map else None)
        assert {each.device.type for each in model.parameters()} == {"cuda" if with_map else "cpu"}
    assert len(lines(capfd)) == 1


def test_what_an_index_does_not_name_stays_missing(tmp_path: Path) -> None:
    accelerate = pytest.importorskip("accelerate")
    write_index(tmp_path, *ALL[:2])
    with full_size():
        with accelerate.init_empty_weights():
            model = Layers()
        accelerate.load_checkpoint_in_model(model, tmp_path, device_map={"": 0})
        assert [name for name, each in model.named_parameters() if each.is_meta] == ["second.weight", "second.bias"]


def test_a_sparse_file_is_as_good_as_a_full_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    accelerate = pytest.importorskip("accelerate")
    from devsan.full_size import hollow

    hollow.write_hollow(str(tmp_path / "model.safetensors"), hollow.described(Layers()))
    with full_size():
        model = Layers()
        accelerate.load_checkpoint_in_model(model, tmp_path, device_map={"": 0})
        assert {each.device.type for each in model.parameters()} == {"cuda"}
    assert not lines(capfd)


def adapter(folder: Path) -> Any:
    peft = pytest.importorskip("peft")
    peft.LoraConfig(r=64, target_modules=["first"], base_model_name_or_path="none").save_pretrained(folder)
    return peft


def test_an_adapter_needs_its_configuration(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    peft = adapter(tmp_path)
    with full_size():
        model = peft.PeftModel.from_pretrained(Layers().cuda(), tmp_path, is_trainable=True)
        assert devsan._core.is_unknown(model.base_model.model.first.lora_A["default"].weight)
        model(torch.randn(2, 1024, device="cuda")).sum().backward()
        model.load_adapter(tmp_path, "other")
        assert set(model.peft_config) == {"default", "other"}
    assert len(told := lines(capfd)) == 2 and f"{tmp_path} has no weights; a checkpoint of 512 KiB" in told[0]


def in_diffusers(folder: Path) -> Any:
    return unet(folder).UNet2DConditionModel.from_pretrained(folder)


def in_accelerate(folder: Path) -> Any:
    write_index(folder, *ALL)
    return pytest.importorskip("accelerate").load_checkpoint_in_model(Layers(), str(folder))


def in_peft(folder: Path) -> Any:
    return adapter(folder).PeftModel.from_pretrained(Layers(), folder)


@pytest.mark.parametrize("load", [in_diffusers, in_accelerate, in_peft])
def test_without_full_size_they_are_missed(
    tmp_path: Path, load: Callable[[Path], Any], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with full_size():
        pass  # what full size has changed is put back
    with devsan.emulate(gpus=1), pytest.raises((OSError, ValueError)):
        load(tmp_path)
    assert not lines(capfd)


@pytest.mark.parametrize("load", [lambda path: torch.load(path), "load_file"])
def test_a_file_that_nothing_describes_is_missed(tmp_path: Path, load: Any) -> None:
    if load == "load_file":
        load = pytest.importorskip("safetensors.torch").load_file
    write_index(tmp_path, *ALL)
    with full_size(), pytest.raises(FileNotFoundError):
        load(tmp_path / "model-00000-of-00002.safetensors")
