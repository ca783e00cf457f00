"""Weights that are not there, and those that nobody can save."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

import devsan
from devsan.cuda.patches import Patches
from devsan.full_size import hollow, host_kernels

GIB = 2**30

WIDE = {"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 8, "num_attention_heads": 32,
        "num_key_value_heads": 8, "vocab_size": 32000, "dtype": "bfloat16"}  # fmt: skip


def llama(folder: Path) -> Any:
    transformers = pytest.importorskip("transformers")
    transformers.LlamaConfig(architectures=["LlamaForCausalLM"], **WIDE).save_pretrained(folder)
    return transformers


def test_a_configuration_is_enough(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    transformers = llama(tmp_path)
    with devsan.emulate(gpus=2, profile="a100-80g", full_size=True):
        model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, device_map="auto", dtype=torch.bfloat16)
        size = sum(each.nbytes for each in model.parameters())
        held = sum(torch.cuda.memory_allocated(index) for index in range(2))
        assert {each.device.type for each in model.parameters()} == {"cuda"}
        assert size <= held < size + GIB // 8
    assert "has no weights; a checkpoint of 3.1 GiB without numbers takes their place" in capfd.readouterr().err


def test_so_is_an_index_without_its_files(tmp_path: Path) -> None:
    transformers = llama(tmp_path)
    index = {"metadata": {"total_size": 0}, "weight_map": {"lm_head.weight": "model-00001-of-00001.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with devsan.emulate(gpus=1, profile="a100-80g", full_size=True):
        model = transformers.LlamaForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16).cuda()
        assert torch.cuda.memory_allocated() >= sum(each.nbytes for each in model.parameters())


def test_without_full_size_they_are_missed(tmp_path: Path) -> None:
    transformers = llama(tmp_path)
    with devsan.emulate(gpus=1), pytest.raises(OSError, match="no file named"):
        transformers.LlamaForCausalLM.from_pretrained(tmp_path)


def test_a_hollow_checkpoint_takes_no_room(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors")
    file = str(tmp_path / "hollow.safetensors")
    size = hollow.write_hollow(file, [("a", "bfloat16", (1 << 15, 1 << 15)), ("b", "bool", (3,))])
    assert size == 2 * GIB + 3
    assert os.stat(file).st_size > size and os.stat(file).st_blocks * 512 < GIB // 64
    with safetensors.safe_open(file, framework="pt") as opened:
        assert opened.get_slice("a").get_shape() == [1 << 15, 1 << 15]
        assert opened.get_tensor("b").tolist() == [False] * 3


def test_what_has_no_numbers_is_not_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    file = tmp_path / "kept"
    file.write_text("an earlier checkpoint")
    with devsan.emulate(gpus=1, full_size=True):
        states = {"layer": {"weight": torch.randn(1024, 1024, device="cuda")}}
        torch.save(states, file)
        safetensors.save_file({"weight": torch.randn(1024, 1024)}, file)
        with (tmp_path / "opened").open("wb") as opened:
            torch.save(states, opened)
        assert file.read_text() == "an earlier checkpoint" and opened.name and not os.path.getsize(opened.name)
        line = f"{file} is not written: 4\N{NO-BREAK SPACE}MiB of it have no numbers"
        assert capsys.readouterr().err.count(line) == 1
        torch.save({"step": torch.tensor(3), "lr": 0.1}, file)
        assert torch.load(file)["step"].item() == 3
        safetensors.save_file({"step": torch.tensor(4)}, filename=file)
        assert safetensors.load_file(file)["step"].item() == 4
    torch.save(states, file)


def test_who_has_imported_a_function_that_saves_before_leaves_out_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_file = pytest.importorskip("safetensors.torch").save_file
    earlier = ModuleType("earlier")
    earlier.save = save_file  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "earlier", earlier)
    with devsan.emulate(gpus=1, full_size=True):
        earlier.save({"weight": torch.randn(1024, 1024)}, tmp_path / "kept")
    assert earlier.save is save_file and not list(tmp_path.iterdir())


def test_a_checkpoint_of_lightning_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lightning = pytest.importorskip("lightning")

    class Job(lightning.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(1024, 1024)

        def training_step(self, batch: torch.Tensor) -> torch.Tensor:
            return self.layer(batch).mean()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters())

    with devsan.emulate(gpus=1, full_size=True):
        trainer = lightning.Trainer(accelerator="gpu", devices=1, max_steps=2, logger=False, default_root_dir=tmp_path,
                                    enable_progress_bar=False, enable_model_summary=False)  # fmt: skip
        trainer.fit(Job(), torch.utils.data.DataLoader(torch.randn(4, 1024)))
    assert trainer.global_step == 2 and not list(tmp_path.rglob("*.ckpt"))
    assert capsys.readouterr().err.count("ckpt is not written: 12") == 1


def test_what_has_no_numbers_has_no_bytes(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    with devsan.emulate(gpus=1, full_size=True):
        held = {"weight": torch.randn(1024, 1024, device="cuda")}
        for save in (lambda: torch.save(held, io.BytesIO()), lambda: safetensors.save(held)):
            with pytest.raises(RuntimeError, match=r"numbers to save in memory, got 1 \(4\sMiB\) that have none"):
                save()


def test_a_distributed_checkpoint_is_left_out(tmp_path: Path) -> None:
    from torch.distributed import checkpoint

    with devsan.emulate(gpus=1, full_size=True):
        held = {"weight": torch.randn(1024, 1024, device="cuda"), "step": 3}
        checkpoint.save(held, checkpoint_id=tmp_path / "kept", no_dist=True)
        assert sum(each.stat().st_size for each in (tmp_path / "kept").iterdir()) < 100_000


def test_a_kernel_in_host_memory_does_nothing_without_numbers() -> None:
    calls: list[float] = []
    made: list[int] = []
    library = SimpleNamespace(adam_update=lambda rate, weight: calls.append(rate) or 7, create_adam=made.append)
    builder = SimpleNamespace(load=lambda: made.append(0) or library)
    module: Any = SimpleNamespace(__name__="deepspeed.ops.adam.cpu_adam", CPUAdamBuilder=lambda: builder)
    patches = Patches()
    with devsan.emulate(gpus=1, full_size=True):
        host_kernels.leave_out(module, patches)
        kernels = module.CPUAdamBuilder().load()
        kernels.create_adam(5)
        assert kernels.adam_update(0.1, torch.zeros(512, 512)) == 0 and calls == [] and made == [], "compiled"
        assert kernels.adam_update(0.2, torch.zeros(2)) == 7 and calls == [0.2] and made == [0, 5]
    patches.undo()


def test_what_a_copy_without_numbers_leaves_on_meta_is_meta_as_ever() -> None:
    """As accelerate leaves the weights that it offloads, which a program then reads outside of their module."""
    with devsan.emulate(gpus=1, full_size=True, real_below=0):
        kept = torch.empty(4, 4, device="meta").copy_(torch.zeros(4, 4, device="cuda") + 1)
        made = torch.zeros(4, 4).add(1).to("meta")
        assert (kept[0] - made[1]).is_meta
