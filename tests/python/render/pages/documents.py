"""Documents of runs, written by hand: what a test of a format starts from."""

from __future__ import annotations

import copy
import math
from typing import Any

from devsan.diagnostics.messages import message

Document = dict[str, Any]

FOLDER = "/home/ada/tune"
LIBRARY = "/home/ada/.venv/lib/python3.12/site-packages"
SENTENCE = (
    "Expected all tensors to be on the same device, but got target is on cuda:0, different from other tensors on "
    "cuda:1 (when checking argument in method wrapper_CUDA_nll_loss_forward)"
)

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>\"'`&amp;<!--{{ 7*7 }}"


def frame(file: str, line: int, source: str, package: str = "", column: int = 5, function: str = "main") -> Document:
    return {
        "file": file, "path": f"{LIBRARY if package else FOLDER}/{file}", "line": line, "column": column,
        "end_line": line, "end_column": column + len(source), "function": function, "source": source,
        "package": package, "module": "",
    }  # fmt: skip


LOAD = frame("train.py", 21, 'model = AutoModelForCausalLM.from_pretrained(args.model, device_map="auto")')
LABELS = frame("train.py", 40, 'labels = torch.tensor(batch["labels"], device="cuda:0")')
LOSS = frame("modeling.py", 88, "loss = F.cross_entropy(logits, labels)", column=9, function="Tuned.forward")
LOOP = frame("train.py", 47, 'out = model(ids.to("cuda:0"), labels=labels)')
INSIDE = frame("torch/nn/functional.py", 3494, "return torch._C._nn.cross_entropy_loss(input, target)", "torch")


def event(kind: str, device: str, op: str, site: Document, owner: str = "program", **more: Any) -> Document:
    setting, where = more.pop("setting", ""), more.pop("where", None)
    made = {
        "kind": kind, "device": device, "from": "", "op": op, "bytes": 0,
        "owner": {"name": owner, "mechanism": more.pop("mechanism", ""), "setting": setting, "where": where},
        "site": site, "frames": [site], "source": "unknown", "device_text": "",
        "device_value": "", "device_value_at": "", "followed": "", "subject": "",
        "discarded": False, "amended": "", "sentence": f"{kind} on {device}",
    }  # fmt: skip
    return {**made, **more}


def operand(name: str, device: str, column: int, provenance: list[Document], **more: Any) -> Document:
    made = {
        "role": "self", "name": name, "qualified_name": "", "kind": "local", "device": device, "dtype": "float32",
        "shape": [6, 10], "bytes": 240, "offending": False, "line": 88, "column": column, "end_line": 88,
        "end_column": column + len(name), "provenance": provenance, "copies": [], "holder": "", "tied_to": "",
        "replaced_at": None, "left_in": "", "moved_part": "", "requires_grad": False,
    }  # fmt: skip
    return {**made, **more}


def finding(number: int = 1, **more: Any) -> Document:
    """A loss on cuda:1 whose labels stayed on cuda:0."""
    loaded = event(
        "loaded", "cuda:1", "AlignDevicesHook.init_hook", LOAD, "accelerate", mechanism="AlignDevicesHook",
        setting='device_map["lm_head"] = 1', bytes=65536000, source="map", frames=[INSIDE, LOAD], **{"from": "cpu"},
    )  # fmt: skip
    computed = event("computed", "cuda:1", "aten::linear", LOSS, "", followed="lm_head.weight")
    made = event("made", "cuda:0", "aten::tensor", LABELS, source="literal", device_text='"cuda:0"', bytes=48)
    text = "        loss = F.cross_entropy(logits, labels)"
    site = {
        "file": "modeling.py", "path": f"{FOLDER}/modeling.py", "line": 88, "column": 16, "note": "",
        "end_line": 0, "end_column": 0,
        "lines": [{"line": 88, "text": text}],
        "labels": [
            {"line": 88, "column": 32, "end_column": 38, "texts": ["cuda:1  float32[6,10]"], "offending": False},
            {"line": 88, "column": 40, "end_column": 46, "texts": ["cuda:0  int64[6]  (target)"], "offending": True},
        ],
    }  # fmt: skip
    caller = {
        "file": "train.py", "path": f"{FOLDER}/train.py", "line": 47, "column": 16, "note": "called from here",
        "end_line": 0, "end_column": 0,
        "lines": [{"line": 47, "text": f"        {LOOP['source']}"}], "labels": [],
    }  # fmt: skip
    edit = {
        "file": "modeling.py", "path": f"{FOLDER}/modeling.py", "line": 88, "column": 9,
        "end_line": 88, "end_column": len(text) + 1, "before": text.strip(),
        "after": "loss = F.cross_entropy(logits, labels.to(logits.device))", "safe": True,
    }  # fmt: skip
    made_finding = {
        "id": f"{number:016x}", "cause": f"{number + 1000:016x}", "code": "DV104", "name": "reduction-boundary",
        "title": "labels stayed on cuda:0, the loss is computed on cuda:1",
        "headline": "operands of aten::nll_loss_forward are on cuda:1 and cuda:0", "severity": "error",
        "confidence": "likely", "time": 6.412, "op": "aten::nll_loss_forward", "kind": "mixed", "phase": "loss",
        "sentence": SENTENCE, "sites": [site, caller], "count": 1,
        "also_at": [{"frame": LOOP, "op": "aten::eq", "sentence": SENTENCE, "count": 3}],
        "stack": [INSIDE, LOSS, LOOP],
        "operands": [
            operand("logits", "cuda:1", 32, [computed, loaded], requires_grad=True),
            operand("labels", "cuda:0", 40, [made], role="target", dtype="int64", shape=[6], bytes=48, offending=True),
        ],
        "involved": [1, 0],
        "evidence": ["`logits` came from lm_head, which device_map puts on cuda:1.",
                     message("No hook moves {name}.", name="`labels`")],
        "fixes": [
            {"kind": "use_site", "text": "move `labels` to the device of `logits`", "confidence": "likely",
             "edits": [edit]},
            {"kind": "map", "text": "put `lm_head` beside the embedding", "confidence": "possible", "edits": []},
        ],
        "naive_fix": "Moving the logits instead would copy them at each step.", "candidates": [],
        "source": "torch", "see_also": [], "subject": "", "rank": None, "rows": [], "placed": [], "notes": [],
        "printed": True,
    }  # fmt: skip
    return copy.deepcopy({**made_finding, **more})  # the frames above belong to no single run


def module(path: str, device: str = "", size: int = 0, hook: str = "", **more: Any) -> Document:
    tensor = {"name": "weight", "is_buffer": False, "device": device, "dtype": "bfloat16", "bytes": size}
    hooks = [{"type": "AlignDevicesHook", "owner": "accelerate", "execution_device": hook, "offload": False}]
    name = path.rpartition(".")[2]
    made = {
        "path": path, "type": "Layer" if name.isdecimal() else name.title() or "Net", "package": "transformers",
        "tensors": [tensor] if device else [], "hooks": hooks if hook else [],
    }  # fmt: skip
    return {**made, **more}


def model(layers: int = 6, gpus: int = 2, **more: Any) -> Document:
    """A model of ``layers`` layers of 16 modules each, dispatched evenly."""
    modules = [module(""), module("model"), module("model.embed", "cuda:0", 1 << 20, "cuda:0"), module("model.layers")]
    device_map = [("model.embed", "cuda:0")]
    for number in range(layers):
        path, device = f"model.layers.{number}", f"cuda:{number * gpus // layers}"
        device_map.append((path, device))
        modules += [module(path, hook=device), module(f"{path}.attention"), module(f"{path}.mlp")]
        names = [f"attention.{each}_proj" for each in "qkvo"] + [f"mlp.part_{each}" for each in range(9)]
        modules += [module(f"{path}.{name}", device, 1 << 18) for name in names]
    last = f"cuda:{gpus - 1}"
    modules.append(module("lm_head", last, 1 << 20, last))
    device_map.append(("lm_head", last))
    made = {
        "finding": "", "expression": "model", "type": "LlamaForCausalLM",
        "device_map": [{"key": key, "device": device} for key, device in device_map],
        "device_map_text": 'device_map="auto"', "wrappers": [], "quantization": "", "modules": modules,
        "placements": [],
    }  # fmt: skip
    return {**made, **more}


def peak(device: str) -> Document:
    holder = {"name": "model.layers.0.mlp.gate_proj.weight", "op": "", "where": "", "bytes": 2 << 30, "tensors": 1}
    computed = {**holder, "name": "", "op": "aten::silu", "bytes": 1 << 30, "tensors": 4}
    return {
        "device": device, "allocated": 6 << 30, "reserved": 7 << 30, "op": "aten::silu", "stack": [INSIDE, LOOP],
        "parts": [
            {"kind": "parameter", "bytes": 3 << 30, "tensors": 40, "largest": [holder] * 3},
            {"kind": "activation", "bytes": 2 << 30, "tensors": 8, "largest": [computed]},
            {"kind": "workspace", "bytes": 1 << 30, "tensors": 1, "largest": []},
        ],
    }  # fmt: skip


def job(ranks: int, killed: int) -> Document:
    """A job of which one rank was killed, and the others waited for it."""
    waited = {"how": "peer_failed", "place": "train.py:9", "waited_in": "all_reduce", "signal": ""}
    ended = {"how": "killed", "place": "", "waited_in": "", "signal": "SIGKILL"}
    return {
        "id": "1", "command": ["torchrun", "train.py"], "program": "train.py", "findings": [], "places": "",
        "ranks": [
            {"rank": rank, "local_rank": rank, "pid": 100 + rank, "time": None, "type": "", "message": "",
             "code": None, "reported": False, **(ended if rank == killed else waited)}
            for rank in range(ranks)
        ],
    }  # fmt: skip


def run(rank: int = 0, world_size: int = 1, gpus: int = 2, steps: int = 12, **more: Any) -> Document:
    """A run that failed: one finding, a model on two GPUs, transfers and memory of ``steps`` steps."""
    devices = [f"cuda:{number}" for number in range(gpus)]
    pairs = [("cpu", devices[0]), (devices[0], devices[-1]), (devices[-1], "cpu")] if gpus else []
    places = [
        {"id": number, "from": origin, "to": target, "times": steps, "bytes": steps << (4 * number),
         "event": event("moved", target, "Tensor.to", LOOP, **{"from": origin})}
        for number, (origin, target) in enumerate(pairs)
    ]  # fmt: skip
    times = [6.0 * step / steps for step in range(steps)]
    transfers = [
        {"place": number, "time": time, "until": time + 0.01, "times": 1, "bytes": 1 << (4 * number)}
        for time in times
        for number in range(len(pairs))
    ]
    phases = [
        {"phase": phase, "time": time + begin * 6.0 / steps, "until": time + end * 6.0 / steps}
        for time in times[1:]
        for phase, begin, end in (("forward", 0.0, 0.4), ("backward", 0.4, 0.8), ("optimizer", 0.8, 0.9))
    ]
    samples = [
        {"time": time, "device": device, "allocated": held, "reserved": 7 << 30,
         "taken_in": {"load": held // 2, "forward": held - held // 2}}
        for time in times
        for held in (int(3e9 * (1 + math.sin(time))),)
        for device in devices
    ]  # fmt: skip
    made = {
        "format": "devsan-run", "version": 2, "start": "2026-11-21T16:30:05.123Z",
        "process": {
            "command": ["train.py", "--model", "tiny"], "directory": FOLDER, "pid": 4711, "rank": rank,
            "local_rank": rank, "world_size": world_size, "devsan": "0.1.0", "python": "3.12.4",
            "torch": "2.13.0+cpu", "platform": "Linux-6.1-x86_64",
        },
        "gpus": [
            {"device": device, "name": "NVIDIA GeForce RTX 3090", "profile": "rtx3090-24g", "memory": 24 << 30,
             "used_memory": 0}
            for device in devices
        ],
        "findings": [finding()], "models": [model(gpus=gpus)], "places": places,
        "phases": [{"phase": "load", "time": 0.0, "until": 6.0 / steps}, *phases], "transfers": transfers,
        "memory": {
            "devices": [
                {"device": device, "budget": 23 << 30, "peak_allocated": 6 << 30, "peak_reserved": 7 << 30}
                for device in devices
            ],
            "samples": samples,
            "peaks": [peak(device) for device in devices],
        },
        "end": {
            "time": 6.6, "how": "exception", "exit_code": 1,
            "exception": {"type": "RuntimeError", "message": SENTENCE},
        },
        "notes": [],
    }  # fmt: skip
    return copy.deepcopy({**made, **more})
