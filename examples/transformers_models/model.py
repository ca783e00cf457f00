"""A model class of transformers over all GPUs by device_map="auto": forward and backward. --list prints the classes."""

import inspect
import sys
import warnings

import torch
import transformers
from tiny import inputs_of, tiny_config


def classes():
    """The names of the model classes, without importing their modules."""
    for name, module in transformers._class_to_module.items():
        is_model = ".modeling_" in module and "auto" not in module.split(".")
        if is_model and name[0].isupper() and not name.endswith("PreTrainedModel"):
            yield name


def budgets(size, gpus):
    """Uneven memory: all GPUs but the last have room for 60 % of the model, each less than the one before it."""
    parts = range(gpus - 1, 0, -1)
    small = {index: int(size * 0.6 * part / sum(parts)) for index, part in enumerate(parts)}
    return {**small, gpus - 1: 2 * size}


def loss_of(output):
    """Its loss; of a model without one the mean of what it computes."""
    if getattr(output, "loss", None) is not None:
        return output.loss
    found, waiting = [], [output]
    while waiting:
        each = waiting.pop()
        if isinstance(each, torch.Tensor) and each.is_floating_point() and each.requires_grad:
            found.append(each.float().mean().to("cuda:0"))
        elif isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, (list, tuple)):
            waiting += each
    return sum(found)


def main(name):
    cls = getattr(transformers, name)
    torch.manual_seed(0)
    config = tiny_config(cls.config_class)
    source = cls(config)
    size = sum(weight.nbytes for weight in source.parameters())
    if size > 256 << 20:
        sys.exit(f"its smallest configuration has {size >> 20} MiB")
    budget = budgets(size, torch.cuda.device_count())
    weights = source.state_dict()  # as from a folder, without writing and reading it
    model = cls.from_pretrained(None, config=config, state_dict=weights, device_map="auto", max_memory=budget)
    model.eval()
    used = {weight.device for weight in model.parameters()}
    if torch.cuda.device_count() > 1 and len(used) == 1:
        print("the whole model is on one GPU", file=sys.stderr)
        sys.exit(77)  # nothing to judge
    parameters = inspect.signature(model.forward).parameters
    loss = loss_of(model(**inputs_of(cls, config, parameters, "cuda:0")))
    loss.backward()
    print(name, loss.item(), sorted(map(str, used)))


if sys.argv[1] == "--list":
    step = int(sys.argv[2]) if len(sys.argv) > 2 else 1  # --list 4: every fourth
    print(*sorted(classes())[::step], sep="\n")
else:
    warnings.simplefilter("ignore")
    main(sys.argv[1])
