"""DV419: settings of FSDP, in an accelerate file or in the Trainer's fsdp_config.

As FullyShardedDataParallelPlugin.__post_init__ (accelerate/utils/dataclasses.py) and TrainingArguments read them.
"""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Edit
from devsan.diagnostics.messages import Message, message
from devsan.doctor.case import Case
from devsan.doctor.config_fixes import removed, renamed, written
from devsan.doctor.document import Document
from devsan.doctor.findings import finding
from devsan.doctor.nodes import Member, Node
from devsan.doctor.settings import truth, whole
from devsan.spelling import nearest

CODE = own_code(__name__)

_CHOICES = {
    "sharding_strategy": ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"),
    "auto_wrap_policy": ("TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP"),
    "backward_prefetch": ("BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH"),
    "state_dict_type": ("FULL_STATE_DICT", "LOCAL_STATE_DICT", "SHARDED_STATE_DICT"),
}
_BY_NUMBER = ("sharding_strategy", "backward_prefetch", "state_dict_type")
# Known to accelerate launch as --fsdp_<name>, and to the Trainer without fsdp_.
_NAMES = (
    *_CHOICES, "version", "offload_params", "min_num_params", "reshard_after_forward", "forward_prefetch",
    "transformer_layer_cls_to_wrap", "use_orig_params", "cpu_ram_efficient_loading", "sync_module_states",
    "activation_checkpointing", "activation_checkpointing_offload", "ignored_modules", "backward_prefetch_policy",
    "limit_all_gathers", "xla", "xla_fsdp_v2", "xla_fsdp_grad_ckpt", "xla_fsdp_settings", "cpu_offload",
    "mixed_precision_policy", "process_group_backend",
)  # fmt: skip
_CLASSES = {"LLaMADecoderLayer": "LlamaDecoderLayer", "LlamaDecoderlayer": "LlamaDecoderLayer",
            "QwenDecoderLayer": "Qwen2DecoderLayer"}  # fmt: skip


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields settings of FSDP that are refused, ignored, or contradict one another."""
    for document in case.documents:
        section = _section(document)
        if section is None:
            continue
        given = {name.removeprefix("fsdp_"): member for name, member in section.members.items()}
        yield from _names(document, section)
        yield from _values(document, given)
        yield from _together(document, given)
        yield from _efficient_loading(given)
        yield from _wrapping(given)
        yield from _saving(given, case)


def _section(document: Document) -> Node | None:
    if document.root is None:
        return None
    if document.kind == "fsdp":
        return document.root
    kind = document.at("distributed_type")
    section = document.at("fsdp_config")
    if document.kind != "accelerate" or kind is None or str(kind.node.value).upper() != "FSDP" or section is None:
        return None
    return section.node if section.node.kind == "object" else None


def _names(document: Document, section: Node) -> Iterator[Diagnostic]:
    for name, member in section.members.items():
        plain = name.removeprefix("fsdp_")
        if plain in _NAMES:
            continue
        near = nearest(plain, _NAMES)
        shown = f"fsdp_{near}" if near and document.kind == "accelerate" else near
        yield finding(
            CODE, message("{setting} is not an FSDP setting", setting=name), member.place,
            (message("It is ignored: accelerate and the Trainer read only the names that they know."),),
            message("write {correction}", correction=shown) if shown else message("remove it"), severity="warning",
            confidence="likely",
            edits=removed(document, member, False) if not shown
                  else () if shown in section.members else renamed(document, member.place, shown),
        )  # fmt: skip


def _values(document: Document, given: dict[str, Member]) -> Iterator[Diagnostic]:
    for name, choices in _CHOICES.items():
        member = given.get(name)
        if member is None or member.node.value is None:
            continue
        value = member.node.value
        if isinstance(value, str) and (value.upper() in choices or value.lower() == "no_wrap"):
            continue
        number = whole(value)
        if name in _BY_NUMBER and number is not None and 1 <= number <= len(choices):
            continue
        near = nearest(str(value), choices)
        yield finding(
            CODE,
            message("{setting} is {value}, expected one of {choices}", setting=name, value=member.node.written(),
                    choices=", ".join(choices)),
            member.node.place,
            (message("accelerate stops when it reads the file."),),
            message("write {correction}", correction=near) if near else message("write one of them"), severity="error",
            confidence="certain", edits=written(document, member.node, near) if near else (),
        )  # fmt: skip


def _together(document: Document, given: dict[str, Member]) -> Iterator[Diagnostic]:
    version = whole(given["version"].node.value) if "version" in given else None
    reshard = given.get("reshard_after_forward")
    if version == 2:
        if reshard is not None and truth(reshard.node.value) is None:
            yield _refused(
                "reshard_after_forward",
                reshard,
                message("FSDP 2 accepts only true or false"),
                message("write {correction}", correction="true"),
                written(document, reshard.node, True),
            )
        prefetch = given.get("forward_prefetch")
        if prefetch is not None and truth(prefetch.node.value) is True:
            yield _refused(
                "forward_prefetch",
                prefetch,
                message("FSDP 2 does not support it"),
                message("write false, or use version 1"),
                written(document, prefetch.node, False),
            )
        local = given.get("state_dict_type")
        if local is not None and str(local.node.value).upper() == "LOCAL_STATE_DICT":
            yield _refused(
                "state_dict_type",
                local,
                message("FSDP 2 does not support it"),
                message("write {correction}", correction="SHARDED_STATE_DICT"),
                written(document, local.node, "SHARDED_STATE_DICT"),
            )
        for name in ("sharding_strategy", "sync_module_states", "use_orig_params", "backward_prefetch"):
            if name in given:
                yield finding(
                    CODE, message("{setting} is an FSDP 1 setting, but version is 2", setting=name), given[name].place,
                    (message("It is ignored."),),
                    message("remove it") if name != "sharding_strategy"
                    else message("write {correction}", correction="reshard_after_forward"),
                    severity="note", confidence="certain",
                    edits=removed(document, given[name]) if name != "sharding_strategy" else (),
                )  # fmt: skip
    elif version == 1 and reshard is not None and isinstance(reshard.node.value, bool):
        yield _refused(
            "reshard_after_forward",
            reshard,
            message("FSDP 1 expects the name of a sharding strategy"),
            message("write {correction}", correction="FULL_SHARD"),
            written(document, reshard.node, "FULL_SHARD" if reshard.node.value else "SHARD_GRAD_OP", False),
        )
    offload = given.get("activation_checkpointing_offload")
    if offload is not None and truth(offload.node.value) is True:
        first = given.get("activation_checkpointing")
        if first is None or truth(first.node.value) is not True:
            yield _refused(
                "activation_checkpointing_offload",
                offload,
                message("it needs activation_checkpointing"),
                message("enable both"),
            )


def _refused(name: str, member: Member, why: Message, fix: Message, edits: tuple[Edit, ...] = ()) -> Diagnostic:
    return finding(
        CODE, message("{setting} is {value}: {reason}", setting=name, value=member.node.written(), reason=why),
        member.node.place,
        (message("accelerate stops when it reads the file."),), fix, severity="error", confidence="certain",
    )  # fmt: skip


def _efficient_loading(given: dict[str, Member]) -> Iterator[Diagnostic]:
    loading, sync = given.get("cpu_ram_efficient_loading"), given.get("sync_module_states")
    version = whole(given["version"].node.value) if "version" in given else None
    if loading is None or sync is None or version == 2 or truth(loading.node.value) is not True:
        return
    if truth(sync.node.value) is False:
        yield finding(
            CODE, message("cpu_ram_efficient_loading needs sync_module_states, which is false"), sync.node.place,
            (message("Only rank 0 loads the weights; without the broadcast, every other rank trains uninitialized "
                     "weights."),
             message("accelerate before 0.31 rejects it; later releases enable it with a warning.")),
            message("write {correction}", correction="true"), severity="error", confidence="certain",
            sites=(loading.node.place,),
        )  # fmt: skip


def _wrapping(given: dict[str, Member]) -> Iterator[Diagnostic]:
    policy, layer, size = (given.get(name) for name in
                           ("auto_wrap_policy", "transformer_layer_cls_to_wrap", "min_num_params"))  # fmt: skip
    said = str(policy.node.value).upper() if policy is not None else ""
    if policy is not None and said in ("NO_WRAP", "SIZE_BASED_WRAP") and layer is not None and layer.node.value:
        yield finding(
            CODE, message("transformer_layer_cls_to_wrap is set, but auto_wrap_policy is {policy}", policy=said),
            layer.place,
            (message("The class is ignored: that policy does not use it."),),
            message("write auto_wrap_policy: TRANSFORMER_BASED_WRAP"), severity="warning", confidence="certain",
            sites=(policy.node.place,),
        )  # fmt: skip
    number = whole(size.node.value) if size is not None else None
    if said == "SIZE_BASED_WRAP" and not number:
        yield finding(
            CODE, message("SIZE_BASED_WRAP without min_num_params"), policy.node.place if policy is not None else None,
            (message("Without a size, every module that has a parameter is wrapped separately."),),
            message("set min_num_params, for example to 100000000"), severity="warning", confidence="likely",
        )  # fmt: skip
    names = (
        [layer.node]
        if layer is not None and isinstance(layer.node.value, str)
        else list(layer.node.elements)
        if layer
        else []
    )
    for node in names:
        for name in str(node.value).split(","):
            if name.strip() in _CLASSES:
                yield finding(
                    CODE, message("no model has a class named {class_name}", class_name=name.strip()), node.place,
                    (message("accelerate stops: Could not find the transformer layer class to wrap in the model."),),
                    message("write {correction}", correction=_CLASSES[name.strip()]), severity="error",
                    confidence="likely",
                )  # fmt: skip


def _saving(given: dict[str, Member], case: Case) -> Iterator[Diagnostic]:
    member = given.get("state_dict_type")
    if member is None or str(member.node.value).upper() != "SHARDED_STATE_DICT":
        return
    for script in case.scripts:
        call = script.training_arguments()
        only = call.arguments.get("save_only_model") if call is not None else None
        if only is not None and only.value is True:
            yield finding(
                CODE, message("save_only_model=True with SHARDED_STATE_DICT"), member.node.place,
                (message("The Trainer stops: save_only_model is not compatible with FSDP state dict type "
                         "SHARDED_STATE_DICT."),),
                message("write {correction}", correction="FULL_STATE_DICT"), severity="error", confidence="certain",
                sites=(only.place,),
            )  # fmt: skip
