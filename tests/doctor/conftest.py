"""A machine that is made up, a set-up that works on it, and what the doctor says of both."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from devsan.diagnostics.diagnostic import Diagnostic
from devsan.doctor.case import Case, collect
from devsan.doctor.check import check
from devsan.doctor.driver import Driver, Gpu
from devsan.doctor.facts import Facts, System, visible_numbers
from devsan.doctor.installed import Installed
from devsan.doctor.launch import read_launch
from devsan.doctor.packages import Unmet
from devsan.doctor.torch_facts import Torch

SYSTEM = System("Linux 6.1.0 x86_64", "glibc 2.36", "3.11.7", "/opt/venv/bin/python", "/data/alice/job",
                "node17.cluster", "alice", "/home/alice", 64, 515_000, 8192)  # fmt: skip
ARCHS = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
PACKAGES = {
    "torch": "2.9.1+cu126", "torchvision": "0.24.1+cu126", "transformers": "4.57.3", "accelerate": "1.15.0",
    "deepspeed": "0.19.8", "peft": "0.18.0", "bitsandbytes": "0.50.2", "numpy": "2.3.5", "nvidia-nccl-cu12": "2.27.5",
}  # fmt: skip

TRAINER = """\
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("gpt2")
arguments = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=4,
    gradient_accumulation_steps=8,
    learning_rate=1e-5,
    bf16=True,
    deepspeed="ds_config.json",
)
Trainer(model, arguments).train()
"""

DEEPSPEED: dict[str, Any] = {
    "train_batch_size": "auto",
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto",
    "gradient_clipping": "auto",
    "bf16": {"enabled": "auto"},
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
    "scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": "auto", "warmup_num_steps": "auto"}},
    "zero_optimization": {
        "stage": 3,
        "offload_optimizer": {"device": "cpu", "pin_memory": True},
        "offload_param": {"device": "cpu", "pin_memory": True},
        "overlap_comm": True,
        "contiguous_gradients": True,
        "reduce_bucket_size": "auto",
        "stage3_prefetch_bucket_size": "auto",
        "stage3_param_persistence_threshold": "auto",
        "stage3_max_live_parameters": 1e9,
        "stage3_gather_16bit_weights_on_model_save": True,
    },
    "steps_per_print": 100,
}

ACCELERATE = """\
compute_environment: LOCAL_MACHINE
debug: false
distributed_type: FSDP
downcast_bf16: 'no'
enable_cpu_affinity: false
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_backward_prefetch: BACKWARD_PRE
  fsdp_cpu_ram_efficient_loading: true
  fsdp_forward_prefetch: false
  fsdp_offload_params: false
  fsdp_sharding_strategy: FULL_SHARD
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_sync_module_states: true
  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer
  fsdp_use_orig_params: true
machine_rank: 0
main_training_function: main
mixed_precision: bf16
num_machines: 1
num_processes: 4
rdzv_backend: static
same_network: true
use_cpu: false
"""


def gpus(count: int, name: str = "NVIDIA A100-SXM4-80GB", capability: str = "8.0", first: int = 0) -> tuple[Gpu, ...]:
    return tuple(
        Gpu(number, f"GPU-{number:08x}-1111-2222-3333-444444444444", name, f"00000000:{number + 7:02X}:00.0", 81920, 0,
            capability)
        for number in range(first, first + count)
    )  # fmt: skip


TORCH = Torch("ok", "2.9.1+cu126", "12.6", "", "", ARCHS, True, 4, "91002", "2.27.5")


@dataclass
class SetUp:
    """A set-up that can be changed in one place, and checked."""

    folder: Path
    launch: str = "torchrun --nproc_per_node=4 train.py"
    environment: dict[str, str] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=lambda: dict(PACKAGES))
    driver: Driver = field(default_factory=lambda: Driver("ok", "560.35.03", "12.6", "", gpus(4)))
    torch: Torch = TORCH
    unmet: tuple[Unmet, ...] = ()
    interfaces: tuple[str, ...] = ("lo", "eth0")
    iommu: bool = False
    installed: Installed | None = None
    files: list[str] = field(default_factory=list)

    def write(self, name: str, content: Any) -> SetUp:
        text = content if isinstance(content, str) else json.dumps(content, indent=2)
        (self.folder / name).write_text(text, encoding="utf-8")
        if name not in self.files:
            self.files.append(name)
        return self

    def case(self) -> Case:
        command = shlex.split(self.launch)
        early = read_launch(command, self.environment)
        environment = {**self.environment, **early.environment}
        packages = self.packages if self.torch.state != "absent" else {**self.packages, "torch": ""}
        seen = tuple(visible_numbers(environment.get("CUDA_VISIBLE_DEVICES"), self.driver, environment))
        facts = Facts(
            SYSTEM, self.driver, self.torch, {name: text for name, text in packages.items() if text}, self.unmet,
            dict(sorted(environment.items())), self.interfaces, seen, environment.get("CUDA_VISIBLE_DEVICES"), False,
            self.iommu, self.installed,
        )  # fmt: skip
        launch = read_launch(command, self.environment, len(seen) if self.driver.state == "ok" else None)
        return collect(facts, launch, self.files)

    def findings(self) -> list[Diagnostic]:
        return [finding for finding in check(self.case()) if finding.severity != "note"]

    def notes(self) -> list[Diagnostic]:
        return [finding for finding in check(self.case()) if finding.severity == "note"]


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SetUp:
    """A machine with four GPUs, and no files."""
    monkeypatch.chdir(tmp_path)
    return SetUp(tmp_path)


@pytest.fixture
def deepspeed(empty: SetUp) -> SetUp:
    """A Trainer under DeepSpeed's ZeRO-3 with offload, on four GPUs; it works."""
    return empty.write("ds_config.json", DEEPSPEED).write("train.py", TRAINER)


@pytest.fixture
def fsdp(empty: SetUp) -> SetUp:
    """accelerate's FSDP on four GPUs; it works."""
    empty.launch = "accelerate launch --config_file fsdp.yaml train.py"
    return empty.write("fsdp.yaml", ACCELERATE)


@pytest.fixture
def plain() -> dict[str, Any]:
    """DeepSpeed's configuration of a job that reads it without the Trainer."""
    return {
        "train_batch_size": 128, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}}, "zero_optimization": {"stage": 2},
    }  # fmt: skip


@pytest.fixture
def changed() -> Callable[..., dict[str, Any]]:
    """Returns DeepSpeed's working configuration with settings replaced: changed({"zero_optimization.stage": 2})."""

    def change(settings: Mapping[str, Any], base: Mapping[str, Any] = DEEPSPEED) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(json.dumps(base))
        for path, value in settings.items():
            *names, last = path.split(".")
            node = made
            for name in names:
                node = node.setdefault(name, {})
            if value is ...:
                node.pop(last, None)
            else:
                node[last] = value
        return made

    return change


def with_torch(torch: Torch, **changes: Any) -> Torch:
    return replace(torch, **changes)
