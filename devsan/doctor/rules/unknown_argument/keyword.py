"""DV421: arguments that the installed release of a library does not take.

What the Trainer of transformers took in 4.28, 4.41 and 4.57 and takes no more in 5 was read from training_args.py and
trainer.py of each; what others took, from their documents: Lightning 1.9, accelerate 0.10, trl 0.11.
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
from devsan.doctor.installed import Installed
from devsan.doctor.installed.keywords import keywords
from devsan.doctor.packages import version
from devsan.doctor.script import Call
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

_OF_LIBRARY = {
    "accelerate": {
        "dispatch_batches": "dataloader_config=DataLoaderConfiguration(dispatch_batches={value})",
        "even_batches": "dataloader_config=DataLoaderConfiguration(even_batches={value})",
        "fp16": 'mixed_precision="fp16"',
        "logging_dir": "project_dir={value}",
        "split_batches": "dataloader_config=DataLoaderConfiguration(split_batches={value})",
        "use_seedable_sampler": "dataloader_config=DataLoaderConfiguration(use_seedable_sampler={value})",
    },
    "lightning": {
        "auto_select_gpus": 'devices="auto"',
        "checkpoint_callback": "enable_checkpointing={value}",
        "distributed_backend": "strategy={value}",
        "gpus": 'accelerator="gpu", devices={value}',
        "num_gpus": 'accelerator="gpu", devices={value}',
        "period": "every_n_epochs={value}",
        "progress_bar_refresh_rate": "callbacks=[TQDMProgressBar(refresh_rate={value})]",
        "replace_sampler_ddp": "use_distributed_sampler={value}",
        "terminate_on_nan": "detect_anomaly={value}",
        "tpu_cores": 'accelerator="tpu", devices={value}',
        "weights_summary": "enable_model_summary=True",
    },
    "torch": {"correct_bias": ""},
    "trl": {"max_seq_length": "max_length={value}"},
}
"""How it is said now to the same class, with the value that was given; "" where nothing says it."""

_OF_TRAINER = ("transformers", "trl")
"""The libraries whose classes are given what the Trainer of transformers took."""

_OF_MODELS = {
    "load_in_4bit": "quantization_config=BitsAndBytesConfig(load_in_4bit=True)",
    "load_in_8bit": "quantization_config=BitsAndBytesConfig(load_in_8bit=True)",
    "use_auth_token": "token=True",
    "use_flash_attention_2": 'attn_implementation="flash_attention_2"',
}
"""What from_pretrained of a model of transformers took by itself, and how it is said now."""

_LIBRARIES = (
    "accelerate", "bitsandbytes", "datasets", "deepspeed", "diffusers", "lightning", "lightning_fabric", "peft",
    "pytorch_lightning", "torch.distributed", "torch.nn.parallel", "torch.optim", "torch.utils.data", "transformers",
    "trl",
)  # fmt: skip

_GONE = (
    "fp16_backend", "fp16_opt_level", "half_precision_backend", "include_tokens_per_second",
    "jit_mode_eval", "logging_dir", "mp_parameters", "overwrite_output_dir", "past_index", "push_to_hub_organization",
    "ray_scope", "save_safetensors", "sharded_ddp", "tpu_metrics_debug", "tpu_num_cores", "use_ipex",
    "use_legacy_prediction_loop", "use_mps_device", "xpu_backend",
)  # fmt: skip
"""What nothing says any more."""

_CALL_STOPS = message("The call stops: TypeError: unexpected keyword argument.")
PARSER_STOPS = message("The parser stops: ValueError: Some specified arguments are not used by the HfArgumentParser.")


def check(case: Case) -> Iterator[Diagnostic]:
    """Yields keywords of calls of libraries, and options of the Trainer, that the installed release rejects."""
    installed = case.facts.installed
    if installed is None:
        return
    for script in case.scripts:
        for call in script.library_calls:
            module, _, name = call.name.rpartition(".")
            if name == "from_pretrained":
                yield from _of_model(installed, call)
            elif module.startswith(_LIBRARIES):
                taken = keywords(installed, module, name)
                for keyword in call.given if taken else ():
                    if keyword not in taken:
                        yield _refused(call, keyword, *_advice(call, keyword, taken))
    yield from _options(case, installed)


def _of_model(installed: Installed, call: Call) -> Iterator[Diagnostic]:
    """What the loader of models does not mention goes to the model, which refuses it."""
    package, _, kind = call.name.rpartition(".")[0].partition(".")
    given = [keyword for keyword in _OF_MODELS if keyword in call.given]
    if package != "transformers" or not given or not ("Model" in kind or "For" in kind):
        return
    loader = installed.module("transformers.modeling_utils")
    for keyword in given:
        if loader is not None and keyword not in loader.text:
            yield _refused(call, keyword, "", message("pass {argument} instead", argument=_OF_MODELS[keyword]))


def _advice(call: Call, keyword: str, taken: frozenset[str]) -> tuple[str, Message]:
    """The name that stands for ``keyword``, or "", and what to do."""
    library = call.name.partition(".")[0]
    said = _OF_LIBRARY.get("lightning" if library == "pytorch_lightning" else library, {}).get(keyword)
    if said == "":
        return "", message("remove it")
    if said is not None and said.partition("=")[0] in taken:
        given = call.arguments.get(keyword)
        value = given.shown.partition("=")[2] if given is not None else "..."
        return "", message("pass {argument} instead", argument=said.format(value=value))
    of_trainer = library in _OF_TRAINER
    new = _renamed(keyword, taken) if of_trainer else nearest(keyword, sorted(taken), alike=1.0) or ""
    if new and not call.says(new):
        return new, message("write {correction}", correction=new)
    if of_trainer and (keyword in _MOVED or keyword in _GONE):
        return "", _instead(keyword, taken)
    return "", message("look up in the documents of {library} {version} what stands for it", library=library,
                       version=version(library))  # fmt: skip


def _options(case: Case, installed: Installed) -> Iterator[Diagnostic]:
    """Of the command line only names that a release took: others may be of the script's own classes."""
    said = TrainerArguments.of(case)
    if said.parsed is None:
        return
    taken = taken_by_trainer(installed)
    own = said.parsed.own.union(*(script.fields for script in case.scripts))
    for name in said.words if taken else ():
        if name not in taken and name not in own and was_taken(name):
            yield finding(
                CODE,
                message("transformers {version} has no argument {name}", name=f"--{name}",
                        version=version("transformers")),
                said.parsed.place, (PARSER_STOPS,), _instead(name, taken, "--{name} {value}"),
                severity="error", confidence="certain" if said.parsed.knows_all else "likely",
            )  # fmt: skip


def taken_by_trainer(installed: Installed) -> frozenset[str]:
    """Returns the arguments of the Trainer that the installed release takes; none where they are not known."""
    taken = keywords(installed, "transformers", "TrainingArguments")
    return taken | keywords(installed, "transformers", "Seq2SeqTrainingArguments") if taken else taken


def was_taken(name: str) -> bool:
    """Returns whether a release of transformers had this argument of the Trainer, under this name."""
    return name in _RENAMED or name in _MOVED or name in _GONE


def _refused(call: Call, name: str, new: str, instead: Message) -> Diagnostic:
    place, library = call.given[name], call.name.partition(".")[0]
    called = call.name.rpartition(".")[2]
    at = Place(place.file, place.line, place.column, place.line, place.column + len(name))
    return finding(
        CODE, message("{called} of {library} {version} has no argument {name}", called=called, library=library,
                      version=version(library), name=name),
        place, (_CALL_STOPS,), instead, severity="error", confidence="certain",
        edits=(Edit(at, name, new, name in _RENAMED),) if new else (),
    )  # fmt: skip


def _renamed(name: str, taken: frozenset[str]) -> str:
    new = _RENAMED.get(name, "")
    if new in taken:
        return new
    is_known = name in _MOVED or name in _GONE
    return "" if is_known else nearest(name, sorted(taken), alike=1.0) or ""


def _instead(name: str, taken: frozenset[str], form: str = "{name}={value}") -> Message:
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
