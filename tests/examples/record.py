"""Runs an example and writes down what it computed: ``record.py OUT SCRIPT [WORDS ...]``.

Each of WORDS is one run of the script with the arguments in it; without any, there is one run without arguments.
OUT receives a list with one record per run, all tensors copied to the CPU. Under ``devsan run`` this file is the
program, so that the example itself runs as a user's script does, and on plain CPU the same file records the same.
"""

from __future__ import annotations

import runpy
import shlex
import sys
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

RESULTS = ("losses", "tokens", "logits", "outputs", "device_map")


def gradients_of(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def copied(value: Any) -> Any:
    return value.detach().cpu().clone() if isinstance(value, torch.Tensor) else value


def record(script: str, words: list[str]) -> dict[str, Any]:
    gradients: list[list[torch.Tensor]] = []
    trained_on: set[str] = set()

    def after_step(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        found = gradients_of(optimizer)
        gradients.append([copied(gradient) for gradient in found])
        trained_on.update(str(gradient.device) for gradient in found)

    hook = register_optimizer_step_post_hook(after_step)
    sys.argv = [script, *words]
    try:
        names = runpy.run_path(script, run_name="__main__")
    finally:
        hook.remove()
    model = names["model"]
    model = getattr(model, "module", model)  # DataParallel
    weights = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return {
        "gradients": gradients,
        "trained_on": trained_on,
        "weights": {name: copied(weight) for name, weight in weights.items() if not weight.is_meta},
        "devices": {name: str(parameter.device) for name, parameter in model.named_parameters()},
        "hf_device_map": getattr(model, "hf_device_map", None),
        "result_devices": {name: str(value.device) for name, value in names.items() if isinstance(value, torch.Tensor)},
        **{name: copied(names[name]) for name in RESULTS if name in names},
    }


if __name__ == "__main__":
    out, script, *runs = sys.argv[1:]
    torch.save([record(script, shlex.split(words)) for words in runs or [""]], out)
