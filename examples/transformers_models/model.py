"""A model class of transformers over all GPUs by device_map="auto": forward and backward. --list prints the classes."""

import inspect
import sys
import warnings

import torch
import transformers
from inputs import inputs_of
from tiny import SIZES

MOST_BYTES = 256 << 20
EXIT_SKIPPED = 77  # by which devsan sweep knows that there is nothing to judge


def classes():
    """The names of the model classes, without importing their modules."""
    for name, module in transformers._class_to_module.items():
        is_model = ".modeling_" in module and "auto" not in module.split(".")
        if is_model and name[0].isupper() and not name.endswith("PreTrainedModel"):
            yield name


def budgets(model, gpus):
    """Uneven memory: all GPUs but the last have room for 60 % of the model, each less than the one before it."""
    size, more = (sum(each.nbytes for each in found) for found in (model.parameters(), model.buffers()))
    parts = range(gpus - 1, 0, -1)
    small = {index: int(size * 0.6 * part / sum(parts)) for index, part in enumerate(parts)}
    return {**small, gpus - 1: 2 * (size + more)}


def loss_of(output):
    """Its loss; of a model without one the mean of what it computes."""
    if getattr(output, "loss", None) is not None:
        return output.loss
    found, waiting = [], [output]
    while waiting:
        each = waiting.pop()
        if isinstance(each, torch.Tensor) and each.is_floating_point() and each.requires_grad:
            found.append(each.float().mean())
        elif isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, (list, tuple)):
            waiting += each
    return sum(each.to(found[0].device) for each in found)


def tiny_model(cls):
    """A small model of the class that runs on the CPU, with its configuration and how its inputs are made."""
    built, first = {}, None
    for layout, labeled in (0, True), (1, True), (2, True), (0, False), (1, False):
        how = {"layout": layout, "labeled": labeled}
        for size in [size for size in SIZES if built.get(size, True)]:
            try:
                if size not in built:
                    built[size] = None
                    built[size] = build(cls, size)
                config, model = built[size]
                parameters = inspect.signature(model.forward).parameters
                loss_of(model(**inputs_of(cls, config, parameters, "cpu", **how))).backward()
            except ImportError:
                raise
            except Exception as error:  # the next one may fit
                first = first or error
            else:
                model.zero_grad()
                return model, config, how
    raise first


def build(cls, size):
    """A configuration of this size and a random model of it."""
    config = size.config(cls.config_class)
    with torch.device("meta"):
        taken = sum(weight.nbytes for weight in cls(config).parameters())
    if taken > MOST_BYTES:
        raise ValueError(f"its small configuration has {taken >> 20} MiB")
    return config, cls(config).eval()


def main(name):
    cls = getattr(transformers, name)
    if getattr(cls, "config_class", None) is None or cls.forward is torch.nn.Module.forward:
        print("it is no model that is loaded by itself", file=sys.stderr)
        sys.exit(EXIT_SKIPPED)
    torch.manual_seed(0)
    source, config, how = tiny_model(cls)
    budget = budgets(source, torch.cuda.device_count())
    weights = source.state_dict()  # as from a folder, without writing and reading it
    model = cls.from_pretrained(None, config=config, state_dict=weights, device_map="auto", max_memory=budget)
    model.eval()
    used = {weight.device for weight in model.parameters()}
    if torch.cuda.device_count() > 1 and len(used) == 1:
        print("the whole model is on one GPU", file=sys.stderr)
        sys.exit(EXIT_SKIPPED)
    parameters = inspect.signature(model.forward).parameters
    loss = loss_of(model(**inputs_of(cls, config, parameters, "cuda:0", **how)))
    loss.backward()
    print(name, loss.item(), sorted(map(str, used)))


if sys.argv[1] == "--list":
    step = int(sys.argv[2]) if len(sys.argv) > 2 else 1  # --list 4: every fourth
    print(*sorted(classes())[::step], sep="\n")
else:
    warnings.simplefilter("ignore")
    main(sys.argv[1])
