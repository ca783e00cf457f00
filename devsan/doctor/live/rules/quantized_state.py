"""DV431: layers of bitsandbytes whose weights, scales and quantization are not together.

Their parameters quantize themselves while they move, and what is beside the weight moves only if it is asked to
(bitsandbytes/nn/modules.py, Params4bit.to, Int8Params.to, Linear8bitLt.to).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from devsan.diagnostics.detectors import own_code
from devsan.diagnostics.diagnostic import Diagnostic
from devsan.diagnostics.messages import message, plural
from devsan.doctor.findings import finding
from devsan.doctor.live.subject import Model, Subject, device_of, is_gpu
from devsan.introspect.frames.tensors import is_tensor
from devsan.introspect.frames.values import own_dict

CODE = own_code(__name__)

_FOUR = frozenset({"absmax", "code", "offset"})
_EIGHT = ("CB", "SCB")


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yields layers that are not quantized yet, layers whose state stayed behind, and quantized ones on the host."""
    for model in subject.models:
        found: dict[str, list[tuple[str, Any, str]]] = {}
        for path, module in model.tree.modules.items():
            bits = _bits(module)
            weight = own_dict(module).get("_parameters", {}).get("weight") if bits else None
            if not is_tensor(weight) or device_of(weight) == "meta":
                continue
            hook = model.placing(path)
            if hook is not None and hook.offloads:
                continue
            offending = next((device_of(each) for each in _state(module, weight) if _differs(each, weight)), "")
            if offending:
                found.setdefault("apart", []).append((path, weight, offending))
            elif not _is_quantized(module, weight, bits):
                found.setdefault("raw", []).append((path, weight, ""))
            elif device_of(weight) == "cpu" and model.gpus and hook is None:
                found.setdefault("host", []).append((path, weight, ""))
        for kind, layers in found.items():
            yield _finding(subject, model, kind, *layers[0], len(layers))


def _bits(module: Any) -> int:
    names = {base.__name__ for base in type(module).__mro__ if base.__module__.startswith("bitsandbytes.")}
    if names & {"Linear8bitLt", "Embedding8bit"}:
        return 8
    return 4 if names & {"Linear4bit", "Embedding4bit"} else 0


def _state(module: Any, weight: Any) -> Iterator[Any]:
    """Yields the tensors beside the weight."""
    kept = own_dict(own_dict(weight).get("quant_state") or own_dict(module).get("quant_state"))
    for each in (kept, own_dict(kept.get("state2"))):
        yield from (each[name] for name in _FOUR if is_tensor(each.get(name)))
    for holder in (own_dict(weight), own_dict(own_dict(module).get("state"))):
        yield from (holder[name] for name in _EIGHT if is_tensor(holder.get(name)))


def _differs(each: Any, weight: Any) -> bool:
    here, there = device_of(each), device_of(weight)
    # What is a number, bitsandbytes itself brings along (functional.py, dequantize_4bit: the offset).
    return bool(here and here not in (there, "meta") and each.numel() > 1)


def _is_quantized(module: Any, weight: Any, bits: int) -> bool:
    own = own_dict(weight)
    if bits == 8:
        return bool(own.get("has_fp16_weights", False)) or str(weight.dtype) == "torch.int8"
    return bool(own.get("quant_state") is not None or own_dict(module).get("quant_state") is not None)


def _finding(
    subject: Subject, model: Model, kind: str, path: str, weight: Any, offending: str, count: int
) -> Diagnostic:
    layer, here = path or model.name, device_of(weight)
    moved = subject.lines.move(model.around(path), [weight])
    others = count - 1
    more = (plural("The same applies to {n} other layer.", "The same applies to {n} other layers.", others),)[:others]
    if kind == "apart":
        return finding(
            CODE,
            message("the weight of {layer} is on {device}, but its scales are on {other_device}",
                    layer=layer, device=here, other_device=offending),
            moved,
            (message("The weight was not moved by the layer's own method, which also moves the scales."), *more),
            message("load it directly onto its device: {argument}", argument=f'device_map={{"": "{here}"}}'),
            severity="error", confidence="certain",
            others=(message("move the layer itself, layer.to(device), not its parent module or the data of its "
                            "weight"),),
        )  # fmt: skip
    if kind == "raw":
        return finding(
            CODE,
            message("{layer} is a quantized layer, but its weight is not quantized: {dtype}, on {device}",
                    layer=layer, dtype=weight.dtype, device=here),
            moved,
            (message("bitsandbytes quantizes a weight when the layer moves from the CPU to its device."), *more),
            message("move the layer to its GPU once, after loading its weights") if not is_gpu(here)
            else message("create the layer on the CPU, load its weights, then move it"),
            severity="error", confidence="certain",
        )  # fmt: skip
    return finding(
        CODE,
        message("the quantized weight of {layer} is on cpu, but the rest of the model is on {device}",
                layer=layer, device=model.gpus[0]),
        moved,
        (message("No hook moves it or its input."), *more),
        message("keep quantized modules on GPUs: give the device map enough memory, or fewer modules"),
        severity="error", confidence="likely",
        others=(message("keep the modules on the CPU in fp32: llm_int8_enable_fp32_cpu_offload=True"),),
    )  # fmt: skip
