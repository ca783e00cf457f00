"""DV417: two owners of placement, by configuration. What a script does with a map, `devsan.doctor.source` says."""

from __future__ import annotations

from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Place
from devsan.diagnostics.messages import message
from devsan.doctor.case import Case
from devsan.doctor.findings import finding
from devsan.doctor.script import Call, Script
from devsan.doctor.trainer_arguments import Said, TrainerArguments

CODE = own_code(__name__)


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields ZeRO-3 beside what places the model itself, and two engines at once."""
    stages = [settings for settings in case.deepspeed() if settings.stage == 3]
    for script in case.scripts:
        if stages:
            stage = stages[0].get("zero_optimization.stage")
            for call in script.named("from_pretrained"):
                yield from _loading(script, call, stage.place if stage is not None else None)
                yield from _mapped(case, call, stage.place if stage is not None else None)
    yield from _engines(case)
    yield from _arguments(case)
    yield from _bypass(case)


def _loading(script: Script, call: Call, stage: Place | None) -> Iterator[Diagnostic]:
    sites = (stage,) if stage is not None else ()
    low = call.arguments.get("low_cpu_mem_usage")
    if low is not None and low.value is True:
        yield finding(
            CODE, message("low_cpu_mem_usage=True with ZeRO stage 3"), low.place,
            (message("zero.Init shards the weights as they are created; low_cpu_mem_usage creates them empty and "
                     "fills them later."),
             message("transformers 4 rejects this combination.")),
            message("remove {setting}", setting="low_cpu_mem_usage"), severity="warning", confidence="likely",
            sites=sites,
        )  # fmt: skip
    eight = call.arguments.get("load_in_8bit")
    place = eight.place if eight is not None and eight.value is True else None
    if place is None and call.says("quantization_config"):
        configs = [each for each in script.named("BitsAndBytesConfig") if _is_true(each, "load_in_8bit")]
        place = configs[0].arguments["load_in_8bit"].place if configs else None
    if place is not None:
        yield finding(
            CODE, message("8-bit weights with ZeRO stage 3"), place,
            (message("bitsandbytes keeps 8-bit weights and their scales unsharded on the rank's GPU, but ZeRO-3 would "
                     "shard them."),),
            message("use ZeRO stage 2, or 4-bit weights with bnb_4bit_quant_storage set to the training dtype"),
            severity="error", confidence="likely", sites=sites,
        )  # fmt: skip
    yield from _four_bits(script, call, sites)


def _mapped(case: Case, call: Call, stage: Place | None) -> Iterator[Diagnostic]:
    """A device map, which transformers refuses (PreTrainedModel.from_pretrained). Of one over all GPUs in a launch of
    several ranks DV204 tells."""
    mapped, constant = call.given.get("device_map"), call.arguments.get("device_map")
    named = constant is not None and isinstance(constant.value, str) and case.world < 2
    if mapped is None or not (named or "device_map" in call.dictionaries):  # of a variable nobody knows: it may be None
        return
    yield finding(
        CODE, message("device_map with ZeRO stage 3"), mapped,
        (message("transformers stops: DeepSpeed Zero-3 is not compatible with passing a `device_map`."),),
        message("remove {setting}: DeepSpeed shards the weights as they are loaded", setting="device_map"),
        severity="error", confidence="likely", sites=(stage,) if stage is not None else (),
    )  # fmt: skip


def _four_bits(script: Script, call: Call, sites: tuple[Place, ...]) -> Iterator[Diagnostic]:
    """QLoRA and ZeRO-3 or FSDP go together if the 4-bit weights are stored as the other weights are (peft PR 1550)."""
    if not call.says("quantization_config"):
        return
    for config in script.named("BitsAndBytesConfig"):
        if _is_true(config, "load_in_4bit") and config.whole and not config.says("bnb_4bit_quant_storage"):
            yield finding(
                CODE, message("4-bit weights with ZeRO stage 3, but without bnb_4bit_quant_storage"), config.place,
                (message("The default storage type is uint8, and ZeRO-3 shards parameters of the same dtype "
                         "together."),),
                message("set bnb_4bit_quant_storage=torch.bfloat16, the training dtype"), severity="warning",
                confidence="likely", sites=sites,
            )  # fmt: skip


def _is_true(call: Call, name: str) -> bool:
    return name in call.arguments and call.arguments[name].value is True


def _engines(case: Case) -> Iterator[Diagnostic]:
    """One job, and more than one file or argument that brings an engine."""
    for document in case.of_kind("accelerate"):
        kind = document.at("distributed_type")
        said = str(kind.node.value).upper() if kind is not None else ""
        if kind is None or said in ("DEEPSPEED", ""):
            continue
        trainer = next((call.arguments["deepspeed"] for script in case.scripts for call in script.calls
                        if "deepspeed" in call.arguments), None)  # fmt: skip
        by_option = case.launch.script_options().get("deepspeed")
        if said == "FSDP" and (trainer is not None or by_option):
            yield _two(kind.node.place)


def _arguments(case: Case) -> Iterator[Diagnostic]:
    """Both engines among the Trainer's arguments (Trainer.__init__ of transformers)."""
    said = TrainerArguments.of(case)
    fsdp, deepspeed = said.argument("fsdp", ""), said.argument("deepspeed", "")
    if fsdp is None or deepspeed is None or not (_is_given(fsdp) and _is_given(deepspeed)):
        return
    place = fsdp.place or deepspeed.place
    yield finding(
        CODE, message("the Trainer gets {first} and {second}", first=fsdp.shown, second=deepspeed.shown), place,
        (message("The Trainer stops: Using --fsdp xxx together with --deepspeed is not possible."),),
        message("keep one of the two"), severity="error", confidence="certain",
        subject="" if place is not None else case.launch.shown(),
    )  # fmt: skip


def _is_given(said: Said) -> bool:
    return not said.by_default and said.value not in ("", None, False, "False", "false")


def _two(place: Place) -> Diagnostic:
    return finding(
        CODE, message("accelerate is configured for FSDP, but the Trainer for DeepSpeed"), place,
        (message("Both shard and place the parameters; the Trainer uses only one of them."),),
        message("keep one: distributed_type: DEEPSPEED, or no DeepSpeed configuration"), severity="error",
        confidence="likely",
    )  # fmt: skip


def _bypass(case: Case) -> Iterator[Diagnostic]:
    value = case.facts.variables.get("ACCELERATE_BYPASS_DEVICE_MAP", "")
    if value.lower() in ("1", "true", "yes", "on") and (case.world > 1 or (not case.world and case.launch.launcher)):
        yield finding(
            CODE, message("ACCELERATE_BYPASS_DEVICE_MAP allows a model with a device map in several ranks"), None,
            (message("accelerate rejects such models because hooks send inputs to the GPUs of other ranks; this "
                     "variable disables the check."),),
            message("unset it, and load the model in each rank without "
                    "device_map"), severity="warning", confidence="certain",
            subject=f"ACCELERATE_BYPASS_DEVICE_MAP={value}",
        )  # fmt: skip
