"""DV420: an accelerate configuration that accelerate launch refuses, or that says two things at once.

As ClusterConfig (accelerate/commands/config/config_args.py), _validate_launch_command (commands/launch.py) and
DeepSpeedPlugin (utils/dataclasses.py) read it.
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message, plural
from devsan.doctor.case import Case
from devsan.doctor.config_fixes import removed, renamed, written
from devsan.doctor.document import Document
from devsan.doctor.findings import finding
from devsan.doctor.settings import whole
from devsan.spelling import nearest

CODE = own_code(__name__)

_KEYS = (
    "compute_environment", "distributed_type", "mixed_precision", "use_cpu", "debug", "num_processes", "machine_rank",
    "num_machines", "gpu_ids", "main_process_ip", "main_process_port", "rdzv_backend", "same_network",
    "main_training_function", "enable_cpu_affinity", "fp8_config", "deepspeed_config", "fsdp_config",
    "parallelism_config", "megatron_lm_config", "mpirun_config", "downcast_bf16", "tpu_name", "tpu_zone",
    "tpu_use_cluster", "tpu_use_sudo", "command_file", "commands", "tpu_vm", "tpu_env", "dynamo_config", "fp16",
    "dynamo_backend", "ipex_config",
)  # fmt: skip
_TYPES = ("NO", "MULTI_CPU", "MULTI_GPU", "MULTI_NPU", "MULTI_MLU", "MULTI_SDAA", "MULTI_MUSA", "MULTI_XPU",
          "MULTI_HPU", "MULTI_NEURON", "DEEPSPEED", "FSDP", "MEGATRON_LM", "XLA", "TPU")  # fmt: skip
_DEEPSPEED = (
    "deepspeed_config_file", "zero_stage", "offload_optimizer_device", "offload_param_device",
    "offload_optimizer_nvme_path", "offload_param_nvme_path", "gradient_accumulation_steps", "gradient_clipping",
    "zero3_init_flag", "zero3_save_16bit_model", "deepspeed_hostfile", "deepspeed_exclusion_filter",
    "deepspeed_inclusion_filter", "deepspeed_multinode_launcher", "deepspeed_moe_layer_cls_names",
)  # fmt: skip
_IGNORED_WITH_FILE = (
    "gradient_accumulation_steps", "gradient_clipping", "zero_stage", "offload_optimizer_device",
    "offload_param_device", "offload_param_nvme_path", "offload_optimizer_nvme_path", "zero3_save_16bit_model",
)  # fmt: skip
_PRECISIONS = ("no", "fp16", "bf16", "fp8")
_FULL = ("fp32", "float32")  # no slip of fp16
_SECTIONS = {"DEEPSPEED": "deepspeed_config", "FSDP": "fsdp_config"}


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields what accelerate launch refuses or passes over."""
    for document in case.of_kind("accelerate"):
        sage = document.at("compute_environment")
        if sage is not None and sage.node.value == "AMAZON_SAGEMAKER":
            continue
        yield from _keys(case, document)
        yield from _kind(document)
        yield from _numbers(case, document)
        yield from _deepspeed(document)


def _keys(case: Case, document: Document) -> Iterator[Diagnostic]:
    assert document.root is not None
    for name, member in document.root.members.items():
        if name in _KEYS:
            continue
        near = nearest(name, (*_KEYS, *_DEEPSPEED))
        moved = near not in _KEYS and (near in _DEEPSPEED or name.startswith("fsdp_"))
        section = "deepspeed_config" if near in _DEEPSPEED else "fsdp_config"
        yield finding(
            CODE, message("{key} is not a key of an accelerate configuration", key=name), member.place,
            (message("accelerate launch stops: the config file had unknown keys."),),
            message("move it into {section}", section=section) if moved
            else message("write {correction}", correction=near) if near
                 else message("remove it, or upgrade accelerate"),
            severity="error", confidence="certain" if moved or near else "likely",
            edits=() if moved or not near or near in document.root.members else renamed(document, member.place, near),
        )  # fmt: skip


def _kind(document: Document) -> Iterator[Diagnostic]:
    member = document.at("distributed_type")
    if member is None:
        assert document.root is not None
        yield finding(
            CODE, message("distributed_type is missing"), document.root.place,
            (message("accelerate launch stops: A `distributed_type` must be specified in the config file."),),
            message("add distributed_type: MULTI_GPU, DEEPSPEED, FSDP or 'NO'"), severity="error", confidence="certain",
        )  # fmt: skip
        return
    said = "NO" if member.node.value is False else str(member.node.value)
    if said not in _TYPES:
        near = nearest(said, _TYPES)
        yield finding(
            CODE,
            message("distributed_type is {value}, expected one of {choices}, DEEPSPEED, FSDP",
                    value=member.node.written(), choices=", ".join(_TYPES[:3])),
            member.node.place,
            (message("accelerate launch stops when it reads the file."),),
            message("write {correction}", correction=near) if near else message("write one of them"), severity="error",
            confidence="certain",
            edits=written(document, member.node, near, safe=near[:2] == said[:2].upper()) if near else (),
        )  # fmt: skip
    for kind, section in _SECTIONS.items():
        other = document.at(section)
        if other is not None and other.node.members and said != kind:
            yield finding(
                CODE, message("{section} is set, but distributed_type is {type}", section=section, type=said),
                other.place,
                (message("The section is ignored: {type} is not used.", type=kind),),
                message("write distributed_type: {type}, or remove the section", type=kind), severity="warning",
                confidence="certain", sites=(member.node.place,),
            )  # fmt: skip


def _numbers(case: Case, document: Document) -> Iterator[Diagnostic]:
    kind, count = document.at("distributed_type"), document.at("num_processes")
    many = whole(count.node.value) if count is not None else None
    said = str(kind.node.value).upper() if kind is not None else ""
    machines = document.at("num_machines")
    nodes = (whole(machines.node.value) if machines is not None else 1) or 1
    if count is not None and (many is None or many < 1):
        yield finding(
            CODE,
            message("{setting} is {value}, expected a positive integer", setting="num_processes",
                    value=count.node.written()),
            count.node.place,
            (message("accelerate launch needs the total number of ranks on all machines."),),
            message("write the number of GPUs"), severity="error", confidence="certain",
        )  # fmt: skip
    elif count is not None and many is not None and many % nodes:
        yield finding(
            CODE,
            message("num_processes {processes} is not a multiple of num_machines {machines}", processes=many,
                    machines=nodes),
            count.node.place,
            (message("num_processes is the total number of ranks on all machines; each machine starts an equal "
                     "share."),),
            message("write a multiple of {number}", number=nodes), severity="error", confidence="certain",
        )  # fmt: skip
    ids = document.at("gpu_ids")
    listed = str(ids.node.value).split(",") if ids is not None and ids.node.value not in (None, "all") else []
    of_launch = case.launch.options.get("num_processes") if case.launch.launcher == "accelerate" else None
    many = whole(of_launch) or many  # the command line's counts
    if ids is not None and listed and many is not None and nodes == 1 and said != "NO" and len(listed) != many:
        fewer = len(listed) < many
        yield finding(
            CODE,
            plural("gpu_ids lists {n} GPU, but num_processes is {processes}",
                   "gpu_ids lists {n} GPUs, but num_processes is {processes}", len(listed), processes=many),
            ids.node.place,
            (message("The ranks without a GPU fail: invalid device ordinal.") if fewer
             else message("The other GPUs stay idle."),),
            message("write num_processes: {processes}", processes=len(listed)),
            severity="error" if fewer else "warning", confidence="certain",
            edits=written(document, count.node, len(listed)) if count is not None and of_launch is None else (),
        )  # fmt: skip
    precision = document.at("mixed_precision")
    value = precision.node.value if precision is not None else None
    if precision is not None and value not in (None, False, "", *_PRECISIONS):
        near = "no" if str(value) in _FULL else nearest(str(value), _PRECISIONS)
        yield finding(
            CODE,
            message("{setting} is {value}, expected one of {choices}", setting="mixed_precision",
                    value=precision.node.written(), choices=", ".join(_PRECISIONS)),
            precision.node.place,
            (message("accelerate launch stops when it reads the file."),),
            message("write {correction}", correction=near) if near else message("write one of them"), severity="error",
            confidence="certain", edits=written(document, precision.node, near) if near else (),
        )  # fmt: skip


def _deepspeed(document: Document) -> Iterator[Diagnostic]:
    section = document.at("deepspeed_config")
    kind = document.at("distributed_type")
    if section is None or kind is None or str(kind.node.value).upper() != "DEEPSPEED":
        return
    file = section.node.at("deepspeed_config_file")
    for name, member in section.node.members.items():
        if name not in _DEEPSPEED:
            near = nearest(name, _DEEPSPEED)
            yield finding(
                CODE, message("{key} is not a key of deepspeed_config", key=name), member.place,
                (message("accelerate ignores it; DeepSpeed's own settings belong in a DeepSpeed file."),),
                message("write {correction}", correction=near) if near
                else message("write a DeepSpeed file, and set deepspeed_config_file to its path"),
                severity="warning", confidence="likely",
                edits=renamed(document, member.place, near) if near and near not in section.node.members else (),
            )  # fmt: skip
        elif file is not None and name in _IGNORED_WITH_FILE:
            yield finding(
                CODE, message("{key} and deepspeed_config_file are both set", key=name), member.place,
                (message("accelerate stops: these variables are ignored when a DeepSpeed file is given."),),
                message("remove it, and set it in the DeepSpeed file"), severity="error", confidence="certain",
                edits=removed(document, member, False), sites=(file.node.place,),
            )  # fmt: skip
    if file is not None:
        precision = document.at("mixed_precision")
        if precision is not None and precision.node.value is not None:  # "no", too: _validate_launch_command
            yield finding(
                CODE, message("mixed_precision and deepspeed_config_file are both set"), precision.place,
                (message("accelerate stops: these variables are ignored when a DeepSpeed file is given."),),
                message("remove it, and enable fp16 or bf16 in the DeepSpeed file"), severity="error",
                confidence="likely", edits=removed(document, precision, False), sites=(file.node.place,),
            )  # fmt: skip
