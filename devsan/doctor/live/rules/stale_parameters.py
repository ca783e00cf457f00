"""DV432: an optimizer steps tensors that are no parameters of the model any more, and the model's nobody steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message, plural
from devsan.doctor.findings import finding
from devsan.doctor.live.subject import Held, Model, Subject, device_of, is_flat
from devsan.introspect.frames.values import own_dict
from devsan.introspect.models.referrers import parameters_of

CODE = own_code(__name__)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yields optimizers none of whose parameters is one of the models', where they look like an earlier form of them.

    Masters of another precision, DeepSpeed's partitions and losses with weights of their own are none.
    """
    known = {id(held.tensor) for model in subject.models for held in model.tensors}
    stepped = {id(each) for optimizer in (*subject.optimizers, *subject.elsewhere)
               for each in parameters_of(optimizer)}  # fmt: skip
    for optimizer in subject.optimizers:
        own = list(parameters_of(optimizer))
        idle = optimizer is subject.stepping and all(each.grad is None for each in own)
        if not own or any("ds_id" in own_dict(each) for each in own) or _is_deepspeed(optimizer):
            continue
        for model in subject.models:
            trained = [held for held in model.tensors if not held.is_buffer and held.tensor.requires_grad]
            if model.sharded_by() == "deepspeed" or not trained or any(id(each.tensor) in stepped for each in trained):
                continue
            # The earlier model may be alive: then only gradients say which is trained, once they are computed.
            if any(id(each) in known for each in own) and not (idle and trained[0].tensor.grad is not None):
                continue
            if _is_earlier_form(own, model, trained):
                yield _finding(subject, optimizer, own, model, trained)
                break


def _is_deepspeed(optimizer: Any) -> bool:
    return type(optimizer).__module__.startswith("deepspeed")


def _is_earlier_form(own: list[Any], model: Model, trained: list[Held]) -> bool:
    """Whether the optimizer's tensors were the model's: as many of the same shapes and types; or, where the model has
    been sharded or adapted since, all of them."""
    now = _shapes({id(held.tensor): held.tensor for held in model.tensors if not held.is_buffer}.values())
    then = _shapes(own)
    if then == _shapes({id(held.tensor): held.tensor for held in trained}.values()) or then == now:
        return not _are_masters(own, trained)
    return model.sharded_by() == "FSDP" and not then - now


def _are_masters(own: list[Any], trained: list[Held]) -> bool:
    """Whether gradients are waiting in the optimizer's tensors: somebody copies them there before each step."""
    return any(each.grad is not None for each in own) and all(held.tensor.grad is None for held in trained)


def _shapes(tensors: Any) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for each in tensors:
        # FullyShardedDataParallel joins several into one and notes their shapes (torch/distributed/fsdp/_flat_param.py)
        joined = own_dict(each).get("_shapes") if is_flat(each) else None
        found.update((tuple(shape), each.dtype) for shape in (joined or (each.shape,)))
    return found


def _finding(subject: Subject, optimizer: Any, own: list[Any], model: Model, trained: list[Held]) -> Diagnostic:
    kind, name = type(optimizer).__name__, model.name
    built = subject.lines.built(optimizer)
    where = sorted({device_of(each) for each in own} - {""})
    sharded = model.sharded_by()
    return finding(
        CODE,
        plural("{optimizer} does not update the {n} trainable parameter of {model}",
               "{optimizer} updates none of the {n} trainable parameters of {model}",
               len(trained), optimizer=kind, model=name),
        built,
        (plural("Its {n} tensor, on {devices}, has the shape of the model's, on {device}, but is not the same tensor.",
                "Its {n} tensors, on {devices}, have the shapes of the model's, on {device}, but are not the same "
                "tensors.",
                len(own), devices=", ".join(where), device=trained[0].device),
         message("{library} replaced the parameters after the optimizer was created.", library=sharded) if sharded
         else message("After the optimizer was created, the model was rebuilt, copied, or moved in a way that "
                      "replaces parameters.")),
        message("create the optimizer after the model has its final structure and devices"), severity="error",
        confidence="certain" if all(each.grad is None for each in own) else "likely",
        others=(message('pass the new parameters to it: optimizer.param_groups[0]["params"] = '
                        "list(model.parameters())"),),
    )  # fmt: skip
