"""DV421: arguments that the installed transformers does not take.

What it took in 4.28, 4.41 and 4.57 and takes no more in 5 was read from training_args.py and trainer.py of each.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic, Edit, Place
from devsan.diagnostics.messages import Message, message
from devsan.doctor.case import Case
from devsan.doctor.findings import finding
from devsan.doctor.trainer_arguments import TrainerArguments
from devsan.spelling import nearest

CODE = own_code(__name__)

_RENAMED = {
    "evaluation_strategy": "eval_strategy",
    "eval_strategy": "evaluation_strategy",
    "no_cuda": "use_cpu",
    "per_gpu_train_batch_size": "per_device_train_batch_size",
    "per_gpu_eval_batch_size": "per_device_eval_batch_size",
    "processing_class": "tokenizer",
    "push_to_hub_model_id": "hub_model_id",
    "push_to_hub_token": "hub_token",
    "tokenizer": "processing_class",
    "torchdynamo": "torch_compile_backend",
}
"""The same under another name, in a newer or an older release."""

_MOVED = {
    "adafactor": ("optim", "adafactor"),
    "dispatch_batches": ("accelerator_config", {"dispatch_batches": True}),
    "fsdp_min_num_params": ("fsdp_config", {"min_num_params": 100_000_000}),
    "fsdp_transformer_layer_cls_to_wrap": ("fsdp_config", {"transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"]}),
    "group_by_length": ("train_sampling_strategy", "group_by_length"),
    "include_inputs_for_metrics": ("include_for_metrics", ["inputs"]),
    "split_batches": ("accelerator_config", {"split_batches": True}),
    "warmup_ratio": ("warmup_steps", 0.1),
}
"""What another argument says now, as in this example."""

_GONE = (
    "fp16_backend", "fp16_opt_level", "half_precision_backend", "include_tokens_per_second", "jit_mode_eval",
    "logging_dir", "mp_parameters", "overwrite_output_dir", "past_index", "push_to_hub_organization", "ray_scope",
    "save_safetensors", "sharded_ddp", "tpu_metrics_debug", "tpu_num_cores", "use_ipex", "use_legacy_prediction_loop",
    "use_mps_device", "xpu_backend",
)  # fmt: skip
"""What nothing says any more."""

_CALL_STOPS = message("The call stops: TypeError: unexpected keyword argument.")
_PARSER_STOPS = message("The parser stops: ValueError: Some specified arguments are not used by the HfArgumentParser.")


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields keywords of the Trainer and of its arguments, and options, that the installed release rejects."""
    for script in case.scripts:
        for call in script.calls:
            name = call.name.rpartition(".")[2]
            of_transformers = script.origins.get(name, "").partition(".")[0] == "transformers"
            if call.name == f"transformers.{name}" or (call.name == name and of_transformers):
                taken = case.facts.signatures().of(name)
                for keyword in call.given if taken else ():
                    if keyword not in taken:
                        yield _refused(case, name, keyword, call.given[keyword], taken)
    yield from _options(case)


def _options(case: Case) -> Iterator[Diagnostic]:
    """Of the command line only names that a release took: others may be of the script's own classes."""
    said = TrainerArguments.of(case)
    taken = case.facts.signatures().parsed if said.parsed is not None else frozenset()
    if said.parsed is None or not taken:
        return
    for name in said.words:
        if name not in taken and name not in said.parsed.own and (name in _RENAMED or name in _MOVED or name in _GONE):
            yield finding(
                CODE,
                message("transformers {version} has no argument {name}", name=f"--{name}",
                        version=case.facts.signatures().version),
                said.parsed.place, (_PARSER_STOPS,), _instead(name, taken, "--{name} {value}"),
                severity="error", confidence="certain",
            )  # fmt: skip


def _refused(case: Case, called: str, name: str, place: Place, taken: frozenset[str]) -> Diagnostic:
    new = _renamed(name, taken)
    at = Place(place.file, place.line, place.column, place.line, place.column + len(name))
    return finding(
        CODE, message("{called} of transformers {version} has no argument {name}", called=called,
                      version=case.facts.signatures().version, name=name),
        place, (_CALL_STOPS,), _instead(name, taken, "{name}={value}"), severity="error", confidence="certain",
        edits=(Edit(at, name, new, name in _RENAMED),) if new else (),
    )  # fmt: skip


def _renamed(name: str, taken: frozenset[str]) -> str:
    new = _RENAMED.get(name, "")
    return new if new in taken else "" if name in _MOVED or name in _GONE else nearest(name, sorted(taken)) or ""


def _instead(name: str, taken: frozenset[str], form: str) -> Message:
    new = _renamed(name, taken)
    if new:
        return message("write {correction}", correction=form.partition("{name}")[0] + new)
    if name not in _MOVED or _MOVED[name][0] not in taken:
        return message("remove it")
    argument, value = _MOVED[name]
    shown = repr(value).replace("'", '"')
    if form.startswith("--"):
        shown = shlex.quote(value if isinstance(value, str) else json.dumps(value))
    return message("pass {argument} instead", argument=form.format(name=argument, value=shown))
