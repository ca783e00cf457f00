"""Faults of the corpus, each seeded into a set-up that works: found, with the fix that fixes it; nothing else is.

Each test names the public threads in which the fault was met.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from devsan.doctor.driver import Driver, Gpu
from devsan.doctor.packages import Unmet
from devsan.doctor.torch_facts import Torch

Changed = Callable[..., dict[str, Any]]

T4 = Gpu(0, "GPU-0", "Tesla T4", "00000000:07:00.0", 15360, 0, "7.5")


def only(setup: Any) -> Any:
    """Returns the one finding."""
    found = setup.findings()
    assert len(found) == 1, [(finding.code, finding.title) for finding in found]
    return found[0]


@pytest.mark.parametrize("name", ["empty", "deepspeed", "fsdp"])
def test_a_set_up_that_works_is_clean(name, request):
    assert request.getfixturevalue(name).findings() == []


LLAMA_FACTORY = {
    "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto",
    "gradient_clipping": "auto", "zero_allow_untested_optimizer": True,
    "fp16": {"enabled": "auto", "loss_scale": 0, "loss_scale_window": 1000, "initial_scale_power": 16, "hysteresis": 2,
             "min_loss_scale": 1},
    "bf16": {"enabled": "auto"},
    "zero_optimization": {"stage": 2, "allgather_partitions": True, "allgather_bucket_size": 5e8, "overlap_comm": True,
                          "reduce_scatter": True, "reduce_bucket_size": 5e8, "contiguous_gradients": True,
                          "round_robin_gradients": True},
}  # fmt: skip
HANA = {
    "zero_allow_untested_optimizer": True, "steps_per_print": 100, "train_micro_batch_size_per_gpu": 8,
    "scheduler": {"type": "WarmupLR", "params": {"last_batch_iteration": -1, "warmup_min_lr": 0, "warmup_max_lr": 1e-4,
                                                 "warmup_num_steps": 10000}},
    "fp16": {"enabled": True, "loss_scale": 0, "loss_scale_window": 1000, "initial_scale_power": 16, "hysteresis": 2,
             "min_loss_scale": 1},
    "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu", "pin_memory": True},
                          "contiguous_gradients": True, "overlap_comm": True, "allgather_bucket_size": 2e8,
                          "reduce_bucket_size": 2e8},
    "activation_checkpointing": {"partition_activations": False, "number_checkpoints": False, "profile": False},
}  # fmt: skip


@pytest.mark.parametrize("configuration", [LLAMA_FACTORY, HANA])
def test_configurations_that_many_use_are_clean(empty, configuration):
    empty.launch = "deepspeed train.py"
    assert empty.write("ds_config.json", configuration).findings() == []


def test_deepspeeds_own_templates_are_clean(empty):
    deepspeed = importlib.util.find_spec("deepspeed")
    if deepspeed is None:
        pytest.skip("DeepSpeed, which brings the templates, is not installed")
    found = sorted(Path(deepspeed.origin).parent.glob("autotuning/config_templates/*.json"))
    assert len(found) == 4
    empty.launch, empty.files = "", [str(path) for path in found]
    assert empty.findings() == []


@pytest.mark.parametrize("version", ["0.14.1", "0.14.2"])
def test_a_release_that_fails_when_it_clips(deepspeed, changed: Changed, version):
    # DeepSpeed 5538, MiniCPM-V 246, axolotl 1698, LlamaFactory 3583, xtuner 589
    deepspeed.packages.update(deepspeed=version, numpy="1.26.4", torch="2.3.1+cu121")
    deepspeed.torch = replace(deepspeed.torch, version="2.3.1+cu121", cuda="12.1")
    deepspeed.packages["torchvision"] = "0.18.1+cu121"
    finding = only(deepspeed)
    assert finding.code == "DV404"
    assert finding.fixes[0].text == 'pip install "deepspeed>=0.14.3"'
    assert "issues/5538" in finding.evidence[1]
    deepspeed.write("ds_config.json", changed({"zero_optimization.offload_optimizer": ...}))
    assert deepspeed.findings() == []
    deepspeed.write("ds_config.json", changed({}))
    deepspeed.packages["deepspeed"] = "0.14.3"
    assert deepspeed.findings() == []


def test_more_ranks_than_visible_gpus(deepspeed):
    # PICK-pytorch 14, MiniCPM-V 356
    deepspeed.launch = "env CUDA_VISIBLE_DEVICES=1,2 torchrun --nproc_per_node=4 train.py"
    finding = only(deepspeed)
    assert (finding.code, finding.fixes[0].text) == ("DV407", "start only 2: --nproc_per_node=2")
    assert [fix.text for fix in finding.fixes[1:]] == ["make more GPUs visible: CUDA_VISIBLE_DEVICES=0,1,2,3"]
    deepspeed.launch = "env CUDA_VISIBLE_DEVICES=1,2 torchrun --nproc_per_node=2 train.py"
    assert deepspeed.findings() == []


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        ("0,1,1,2", "CUDA_VISIBLE_DEVICES=0,1,2"),
        ("0,1,7,2", "CUDA_VISIBLE_DEVICES=0,1,2,3"),
        ("cuda:0,cuda:1", "CUDA_VISIBLE_DEVICES=0,1"),
        ("all", "unset CUDA_VISIBLE_DEVICES: then all GPUs are visible"),
        ("GPU-ffffffff", "CUDA_VISIBLE_DEVICES=0"),
    ],
)
def test_visible_devices_that_name_no_gpu(empty, value, fix):
    # LLaVA 1516 and triton 2441 steer by this variable; a slip in it hides every GPU behind it
    empty.environment["CUDA_VISIBLE_DEVICES"] = value
    empty.launch = "python infer.py"
    finding = only(empty)
    assert (finding.code, finding.fixes[0].text) == ("DV406", fix)


def test_a_quantized_model_in_every_rank(deepspeed, changed: Changed):
    # Lightning 20276, accelerate 2378
    deepspeed.packages["accelerate"] = "1.1.1"
    deepspeed.write("ds_config.json", changed({"zero_optimization": {"stage": 2}}))
    deepspeed.write(
        "train.py",
        (deepspeed.folder / "train.py").read_text().replace('"gpt2"', '"gpt2", load_in_8bit=True'),
    )
    finding = only(deepspeed)
    assert finding.code == "DV404"
    assert finding.fixes[0].text == 'pip install "accelerate>=1.13" "bitsandbytes>=0.48"'
    assert [fix.text for fix in finding.fixes[1:]] == ['load with device_map={"": LOCAL_RANK}']


def test_eight_bit_weights_under_zero_3(deepspeed):
    # accelerate 2378 and 2482
    text = (deepspeed.folder / "train.py").read_text()
    deepspeed.write("train.py", text.replace('"gpt2"', '"gpt2", load_in_8bit=True'))
    finding = only(deepspeed)
    assert finding.code == "DV417"
    assert "ZeRO stage 2" in finding.fixes[0].text
    assert (finding.place.line, finding.place.column) == (3, 54)


def test_a_device_map_under_zero_3(deepspeed):
    text = (deepspeed.folder / "train.py").read_text()
    deepspeed.write("train.py", text.replace('"gpt2"', '"gpt2", device_map={"": local_rank}'))
    finding = only(deepspeed)
    assert finding.code == "DV417"
    assert finding.fixes[0].text.startswith("remove device_map")


@pytest.mark.parametrize("given", ["None", "wanted", 'None if zero_3 else "auto"'])
def test_a_device_map_that_may_be_none_under_zero_3(deepspeed, given: str):
    text = (deepspeed.folder / "train.py").read_text()
    deepspeed.write("train.py", text.replace('"gpt2"', f'"gpt2", device_map={given}'))
    assert deepspeed.findings() == []


def test_low_cpu_mem_usage_under_zero_3(deepspeed):
    # FastChat 1741
    text = (deepspeed.folder / "train.py").read_text()
    deepspeed.write("train.py", text.replace('"gpt2"', '"gpt2", low_cpu_mem_usage=True'))
    finding = only(deepspeed)
    assert (finding.code, finding.fixes[0].text) == ("DV417", "remove low_cpu_mem_usage")


def test_accelerate_is_told_not_to_refuse(deepspeed):
    # Qwen 745 and 920: the refusal is what named the cause
    deepspeed.environment["ACCELERATE_BYPASS_DEVICE_MAP"] = "true"
    finding = only(deepspeed)
    assert finding.code == "DV417"
    assert finding.fixes[0].text == "unset it, and load the model in each rank without device_map"


@pytest.mark.parametrize(
    ("packages", "fix"),
    [
        ({"autoawq": "0.2.6"}, 'pip install "autoawq>=0.2.7"'),
        ({"auto-gptq": "0.7.1"}, "use gptqmodel instead"),
        ({"transformers": "4.51.3"}, 'pip install "transformers>=4.52"'),
    ],
)
def test_releases_that_moved_the_rotary_embedding_or_the_count(empty, packages, fix):
    # AutoAWQ 558, AutoGPTQ 729, transformers 37886
    empty.launch = "python quantize.py"
    assert empty.findings() == []
    empty.packages.update(packages)
    finding = only(empty)
    assert (finding.code, finding.fixes[0].text) == ("DV404", fix)


@pytest.mark.parametrize(
    ("settings", "code", "fix"),
    [
        ({"zero_optimization.stage": 2}, "DV411", "use stage 3"),
        ({"zero_optimization.stage": 0, "zero_optimization.offload_param": ...}, "DV411", "use stage 1, 2 or 3"),
        ({"zero_optimization.offload_param": {"device": "nvme"}}, "DV411",
         "set nvme_path to a folder on a local NVMe disk"),
        ({"zero_optimization.stage3_gather_16bit_weights_on_model_save": False}, "DV415",
         "set stage3_gather_16bit_weights_on_model_save to true"),
        ({"zero_optimization.stage3_gather_16bit_weights_on_model_save": ...}, "DV415",
         "set stage3_gather_16bit_weights_on_model_save to true"),
        ({"zero_optimization.overlap_coms": True}, "DV410", "write overlap_comm"),
        ({"zero_optimization.stage": 4}, "DV410", "write one of 0, 1, 2, 3"),
        ({"zero_optimization.reduce_bucket_size": "5e8"}, "DV410", "write an integer"),
        ({"zero_optimization.aio": {}}, "DV410", "move it to the top of the file"),
        ({"zero_optimization.mics_shard_size": 8}, "DV410", "remove it"),
        ({"gradient_acumulation_steps": 4}, "DV410", "write gradient_accumulation_steps"),
        ({"scheduler.params.warmup_num_steps": 0}, "DV410", "write 1 for no warmup"),
        ({"scheduler.type": "WarmupDecayLR"}, "DV410",
         'set scheduler.params.total_num_steps, or write "auto" with the Trainer'),
        ({"fp16": {"enabled": True}, "bf16.enabled": True}, "DV414",
         "enable only bf16 on Ampere or newer GPUs, only fp16 on older ones"),
        ({"optimizer.type": "OneBitAdam"}, "DV412", None),
        ({"optimizer.type": "Lamb"}, "DV412", "write AdamW: DeepSpeed then creates a DeepSpeedCPUAdam"),
        ({"optimizer.params.max_grad_norm": 1.0}, "DV412", "remove it, and set gradient_clipping"),
        ({"train_micro_batch_size_per_gpu": 2}, "DV416", 'write "auto": the Trainer then fills in its own value'),
        ({"train_batch_size": 64}, "DV416", 'write "auto"'),
        ({"optimizer.params.lr": 3e-4}, "DV416", 'write "auto": the Trainer then fills in its own value'),
        ({"bf16.enabled": False}, "DV416", 'write "auto": the Trainer then fills in its own value'),
        ({"gradient_accumulation_steps": "8"}, "DV416", 'write "auto": the Trainer then fills in its own value'),
    ],
)  # fmt: skip
def test_a_fault_in_the_deepspeed_file(deepspeed, changed: Changed, settings, code, fix):
    deepspeed.write("ds_config.json", changed(settings))
    found = deepspeed.findings()
    assert [finding.code for finding in found][:1] == [code], found
    assert fix is None or found[0].fixes[0].text == fix
    if code == "DV414":
        found = [finding for finding in found if finding.code != "DV416"]  # the Trainer is told bf16
    assert len(found) == 1, found
    assert found[0].place.line > 1 and found[0].place.column > 1


@pytest.mark.parametrize(
    ("settings", "fix"),
    [
        ({}, None),
        ({"train_batch_size": 64}, "write 128"),
        ({"gradient_accumulation_steps": ...}, None),
        ({"gradient_accumulation_steps": ..., "train_batch_size": 100}, "write a multiple of 16"),
        ({"train_micro_batch_size_per_gpu": ..., "train_batch_size": 100}, "write a multiple of 32"),
        ({"train_batch_size": ...}, None),
        ({"train_batch_size": ..., "train_micro_batch_size_per_gpu": 0}, "write 1 or more"),
        ({"train_micro_batch_size_per_gpu": ..., "gradient_accumulation_steps": ..., "train_batch_size": 6},
         "write a multiple of 4"),
    ],
)  # fmt: skip
def test_the_arithmetic_of_batches(empty, changed: Changed, settings, fix, plain):
    # DeepSpeed 3982 and 6914; what DeepSpeed computes is in test_deepspeed_schema.py
    empty.write("ds_config.json", changed(settings, plain))
    empty.launch = "deepspeed --num_gpus=4 train.py"
    if fix is None:
        assert empty.findings() == []
    else:
        finding = only(empty)
        assert (finding.code, finding.fixes[0].text) == ("DV413", fix)


def test_an_optimizer_of_the_script_under_offload(empty, changed: Changed, plain):
    # MOSS 272, Megatron-DeepSpeed 298
    empty.launch = "deepspeed train.py"
    empty.write(
        "ds_config.json", changed({"optimizer": ..., "zero_optimization.offload_optimizer": {"device": "cpu"}}, plain)
    )
    text = (
        "import deepspeed, torch\noptimizer = torch.optim.AdamW(model.parameters())\n"
        'engine = deepspeed.initialize(model=model, optimizer=optimizer, config="ds_config.json")\n'
    )
    empty.write("train.py", text)
    finding = only(empty)
    assert (finding.code, finding.fixes[0].text) == ("DV412", "use deepspeed.ops.adam.DeepSpeedCPUAdam instead")
    assert finding.place.line == 2
    empty.write("train.py", text.replace("torch.optim.AdamW", "deepspeed.ops.adam.DeepSpeedCPUAdam"))
    assert empty.findings() == []


@pytest.mark.parametrize(
    ("model", "found"), [("google/flan-t5-xl", True), ("t5-large", True), ("google/mt5-base", True),
                         ("t5-small", False), ("google-t5/t5-small", False), ("gpt2", False)]
)  # fmt: skip
def test_half_precision_against_the_model(deepspeed, changed: Changed, model, found):
    # transformers 4586, 9295, 23918
    deepspeed.write("ds_config.json", changed({"fp16": {"enabled": True}, "bf16": ...}))
    text = (deepspeed.folder / "train.py").read_text().replace('"gpt2"', f'"{model}"').replace("bf16=True", "fp16=True")
    deepspeed.write("train.py", text)
    if not found:
        assert deepspeed.findings() == []
        return
    finding = only(deepspeed)
    assert (finding.code, finding.fixes[0].text) == ("DV414", "use bf16 on Ampere or newer GPUs, fp32 on older ones")
    assert finding.see_also[0].line == 3


def test_lightning_clips_by_norm_under_deepspeed(empty, changed: Changed):
    # lightning/pytorch/strategies/deepspeed.py, DeepSpeedStrategy.setup
    empty.launch = "python train.py"
    empty.write("ds_config.json", {"zero_optimization": {"stage": 2}, "bf16": {"enabled": True}})
    text = 'import lightning as L\nL.Trainer(strategy=s, gradient_clip_val=1.0, gradient_clip_algorithm="value")\n'
    empty.write("train.py", text)
    finding = only(empty)
    assert (finding.code, finding.fixes[0].text) == ("DV416", 'write gradient_clip_algorithm="norm"')
    empty.write("train.py", text.replace('"value"', '"norm"'))
    assert empty.findings() == []


def test_auto_that_nobody_replaces(empty, changed: Changed, plain):
    empty.launch = "deepspeed train.py"
    empty.write("ds_config.json", changed({"train_batch_size": "auto"}, plain))
    empty.write("train.py", 'import deepspeed\nengine = deepspeed.initialize(model=model, config="ds_config.json")\n')
    finding = only(empty)
    assert (finding.code, finding.fixes[0].text) == ("DV410", "write the number")


def test_bf16_on_a_gpu_without(deepspeed, changed: Changed):
    # LMFlow 88, DeepSpeed 6723
    deepspeed.launch = "python train.py"
    deepspeed.driver = replace(deepspeed.driver, gpus=(T4,))
    deepspeed.write("ds_config.json", changed({"bf16.enabled": True}))
    finding = only(deepspeed)
    assert (finding.code, finding.fixes[0].text) == ("DV414", "use fp16 on these GPUs")


def test_buckets_that_fill_the_gpu(deepspeed, changed: Changed):
    deepspeed.launch = "python train.py"
    deepspeed.driver = replace(deepspeed.driver, gpus=(replace(T4, capability="8.0"),))
    deepspeed.write("ds_config.json", changed({"zero_optimization.reduce_bucket_size": 500000000}))
    finding = only(deepspeed)
    assert finding.code == "DV418"
    most = int(re.search(r"write (\d+)", finding.fixes[0].text)[1])
    deepspeed.write("ds_config.json", changed({"zero_optimization.reduce_bucket_size": most}))
    assert deepspeed.findings() == []


def test_a_key_twice_and_a_comment(deepspeed):
    text = (deepspeed.folder / "ds_config.json").read_text()
    deepspeed.write(
        "ds_config.json", text.replace('"steps_per_print": 100', '"steps_per_print": 100,\n  "steps_per_print": 5')
    )
    finding = only(deepspeed)
    assert (finding.code, finding.fixes[0].text) == ("DV401", "keep one of the two")
    deepspeed.write("ds_config.json", text.replace('"steps_per_print": 100', '"steps_per_print": 100 // often'))
    finding = only(deepspeed)
    assert finding.code == "DV401"
    assert finding.fixes[0].text.startswith("write plain JSON")


@pytest.mark.parametrize(
    ("old", "new", "code", "fix"),
    [
        ("num_processes: 4", "num_processes: 8", "DV407", "start only 4: --num_processes=4"),
        ("sync_module_states: true", "sync_module_states: false", "DV419", "write true"),
        ("FULL_SHARD", "FULL_SHRD", "DV419", "write FULL_SHARD"),
        ("LlamaDecoderLayer", "LLaMADecoderLayer", "DV419", "write LlamaDecoderLayer"),
        ("TRANSFORMER_BASED_WRAP", "NO_WRAP", "DV419", "write auto_wrap_policy: TRANSFORMER_BASED_WRAP"),
        ("fsdp_use_orig_params", "fsdp_use_origparams", "DV419", "write fsdp_use_orig_params"),
        ("distributed_type: FSDP", "distributed_type: MULTI_GPU", "DV420",
         "write distributed_type: FSDP, or remove the section"),
        ("mixed_precision: bf16", "mixed_precision: bfloat16", "DV420", "write bf16"),
        ("mixed_precision: bf16", "mixed_precision: fp32", "DV420", "write no"),
        ("debug: false", "debgu: false", "DV420", "write debug"),
        ("use_cpu: false", "use_cpu: false\ngpu_ids: 0,1", "DV420", "write num_processes: 2"),
        ("fsdp_forward_prefetch: false", "fsdp_version: 2\n  fsdp_forward_prefetch: true", "DV419",
         "write false, or use version 1"),
    ],
)  # fmt: skip
def test_a_fault_in_the_accelerate_file(fsdp, old, new, code, fix):
    # stanford_alpaca 58 and 224, kohya_ss 2584, accelerate 1943
    text = (fsdp.folder / "fsdp.yaml").read_text()
    assert old in text
    fsdp.write("fsdp.yaml", text.replace(old, new))
    finding = only(fsdp)
    assert (finding.code, finding.fixes[0].text) == (code, fix)


DEEPSPEED_YAML = """\
compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config:
  gradient_accumulation_steps: 1
  offload_optimizer_device: cpu
  offload_param_device: none
  zero3_init_flag: true
  zero3_save_16bit_model: true
  zero_stage: 3
mixed_precision: bf16
num_machines: 1
num_processes: 4
"""


def test_deepspeed_by_accelerate(empty):
    # LlamaFactory 253 and 477: trained for days, saved 905 KB
    empty.launch = "accelerate launch --config_file ds.yaml train.py"
    empty.write("ds.yaml", DEEPSPEED_YAML)
    assert empty.findings() == []
    empty.write("ds.yaml", DEEPSPEED_YAML.replace("zero3_save_16bit_model: true", "zero3_save_16bit_model: false"))
    finding = only(empty)
    assert (finding.code, finding.fixes[0].text) == ("DV415", "set zero3_save_16bit_model to true")
    empty.write(
        "ds.yaml", DEEPSPEED_YAML.replace("param_device: none", "param_device: cpu").replace("stage: 3", "stage: 2")
    )
    finding = only(empty)
    assert (finding.code, finding.fixes[0].text) == ("DV411", "set zero_stage: 3")
    empty.write("ds.yaml", DEEPSPEED_YAML.replace("  zero_stage: 3", "  deepspeed_config_file: ds_config.json"))
    assert {finding.code for finding in empty.findings()} == {"DV420"}


def test_the_number_of_ranks_on_the_command_line_counts(empty):
    empty.launch = "accelerate launch --config_file few.yaml --num_processes 4 train.py"
    empty.write("few.yaml", "distributed_type: MULTI_GPU\ngpu_ids: 0,1,2,3\nnum_machines: 1\nnum_processes: 8\n")
    assert [finding.title for finding in empty.findings() if "gpu_ids" in str(finding.title)] == []
    empty.launch = "accelerate launch --config_file few.yaml train.py"
    assert "gpu_ids lists 4 GPUs, but num_processes is 8" in [finding.title for finding in empty.findings()]


def test_torch_and_the_machine(empty):
    empty.launch = "python train.py"
    assert empty.findings() == []
    empty.driver = replace(empty.driver, version="470.82.01", cuda="11.4")
    finding = only(empty)
    assert (finding.code, finding.fixes[0].text) == ("DV403", "install a torch that is built for CUDA 11")
    empty.driver = Driver(
        "ok", "560.35.03", "12.6", "", (replace(T4, name="NVIDIA GeForce GTX 1080", capability="6.1"),)
    )
    finding = only(empty)
    assert (finding.code, finding.fixes[0].text) == ("DV403", "install a torch that is built for an older CUDA")
    empty.driver = replace(empty.driver, gpus=(T4,))
    empty.torch = replace(empty.torch, version="2.9.1+cpu", cuda="", archs=(), available=False)
    empty.packages["torchvision"] = "0.24.1+cpu"
    finding = only(empty)
    assert finding.code == "DV403"
    assert finding.fixes[0].text.startswith("install a build for CUDA 12.6 or older")


@pytest.mark.parametrize(
    ("driver", "fix"),
    [
        (Driver("failing", sentence="Failed to initialize NVML: Driver/library version mismatch"), "reboot"),
        (Driver("hanging"), "look for Xid errors in dmesg, and reboot the machine"),
        (Driver("ok", "560.35.03", "12.6"), "assign GPUs to the container or the job"),
        (Driver("absent"), "run the doctor on the machine that runs the job"),
    ],
)
def test_a_driver_that_does_not_work(empty, driver, fix):
    empty.driver = driver
    empty.torch = replace(empty.torch, available=False)
    finding = only(empty)
    assert finding.code == "DV403"
    assert finding.fixes[0].text.startswith(fix)


def test_a_broken_torch(empty):
    # pytorch 119932 and 186591
    empty.torch = Torch(
        "broken", "2.9.1+cu126", "12.6", sentence="ImportError: libtorch_cuda.so: undefined symbol: ncclCommResume"
    )
    empty.packages["nvidia-nccl-cu13"] = "2.29.7"
    found = {finding.code: finding for finding in empty.findings()}
    assert set(found) == {"DV402", "DV405"}
    assert "both installed" in found["DV402"].evidence[1]
    assert found["DV402"].fixes[0].text == "reinstall it: pip install --force-reinstall torch==2.9.1"
    assert found["DV405"].fixes[0].text == "pip uninstall nvidia-nccl-cu13, then reinstall torch"


def test_packages_of_another_torch(empty):
    # vision 8985, vllm 5736
    empty.unmet = (Unmet("torchvision", "torch==2.8.0", "torch", "2.9.1+cu126"),)
    empty.packages["torchvision"] = "0.23.0"
    finding = only(empty)
    assert (finding.code, finding.severity) == ("DV405", "error")
    empty.unmet = ()
    empty.packages["torchvision"] = "0.24.1+cpu"
    finding = only(empty)
    assert (finding.code, finding.fixes[0].text) == (
        "DV405",
        "install both from the same index: pip install torch torchvision --index-url https://download.pytorch.org/whl/cu126",
    )


@pytest.mark.parametrize(
    ("environment", "launch", "fix"),
    [
        ({"NCCL_SOCKET_IFNAME": "ib0"}, "torchrun --nproc_per_node=4 t.py", "export NCCL_SOCKET_IFNAME=eth0"),
        ({"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments=True"}, "python t.py",
         "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
        ({"MASTER_ADDR": "127.0.0.1"}, "torchrun --nnodes=2 --nproc_per_node=4 t.py",
         "export MASTER_ADDR=<address of the first machine>"),
        ({"MASTER_PORT": "295000"}, "python t.py", "export MASTER_PORT=29500"),
    ],
)  # fmt: skip
def test_variables_that_stop_a_job(empty, environment, launch, fix):
    # NCCL 1837 and 286
    empty.environment.update(environment)
    empty.launch = launch
    finding = only(empty)
    assert (finding.code, finding.fixes[0].text) == ("DV408", fix)


def test_ranks_left_over_from_another_job(empty):
    empty.environment.update(RANK="1", LOCAL_RANK="1", WORLD_SIZE="4", MASTER_ADDR="10.0.0.1", MASTER_PORT="29500")
    empty.launch = "python train.py"
    finding = only(empty)
    assert (finding.code, finding.fixes[0].text) == (
        "DV407",
        "unset RANK LOCAL_RANK WORLD_SIZE, or launch with torchrun",
    )
    empty.environment["TORCHELASTIC_RUN_ID"] = "none"
    assert empty.findings() == []


def test_gpus_of_several_kinds(empty):
    empty.driver = replace(empty.driver, gpus=(T4, replace(empty.driver.gpus[1])))
    empty.launch = "python train.py"
    finding = only(empty)
    assert (finding.code, finding.fixes[0].text) == ("DV406", "export CUDA_DEVICE_ORDER=PCI_BUS_ID")
    assert empty.case().facts.visible == (1, 0)  # CUDA has the A100 first
    empty.environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    assert empty.findings() == []
    assert empty.case().facts.visible == (0, 1)


def test_two_engines(empty, changed: Changed):
    empty.launch = "accelerate launch --config_file fsdp.yaml train.py --deepspeed ds_config.json"
    from tests.doctor.conftest import ACCELERATE

    empty.write("fsdp.yaml", ACCELERATE).write("ds_config.json", changed({}))
    assert [finding.code for finding in empty.findings()] == ["DV417"]


def test_links_that_damage_copies_are_a_note(empty):
    # transformers 36636, exllama 10
    empty.iommu = True
    empty.driver = replace(empty.driver, topology=("        GPU0    GPU1", "GPU0     X      PHB", "GPU1    PHB      X"))
    assert [finding.code for finding in empty.notes()] == ["DV601"]
    empty.driver = replace(
        empty.driver, topology=("        GPU0    GPU1", "GPU0     X      NV12", "GPU1    NV12      X")
    )
    assert empty.notes() == []
