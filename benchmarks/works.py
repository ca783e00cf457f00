"""The work that is timed. A name gives a function that does it once; torch is imported when the first is asked for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

Work = Callable[[], Any]

# The Llama of every benchmark: 4 layers, hidden 256, 128 tokens.
SHAPE = {
    "vocab_size": 1000,
    "hidden_size": 256,
    "intermediate_size": 688,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
}
TOKENS = 128
TIMES = 200


def add(device: str) -> Work:
    """One addition of four elements."""
    import torch

    x, y = torch.ones(4, device=device), torch.ones(4, device=device)
    return lambda: x + y


def mm(device: str) -> Work:
    """One product of two matrices of four elements."""
    import torch

    x, y = torch.ones(2, 2, device=device), torch.ones(2, 2, device=device)
    return lambda: torch.mm(x, y)


def add_fake() -> Work:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return add("cpu")


def llama(device: str = "cpu", device_map: dict[str, str] | None = None, context: Any = None) -> Work:
    """Loss and gradients of one text, on a device or spread by accelerate's hooks over those of a map."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    with context or nullcontext():
        model = LlamaForCausalLM(LlamaConfig(**SHAPE))
        tokens = torch.randint(0, SHAPE["vocab_size"], (1, TOKENS))
        if device_map is not None:
            from accelerate import dispatch_model

            dispatch_model(model, device_map, force_hooks=True)
            device = device_map["model.embed_tokens"]
        elif device != "cpu":
            model.to(device)
        tokens = tokens.to(device)

    def step() -> None:
        with context or nullcontext():
            model(input_ids=tokens, labels=tokens, use_cache=False).loss.backward()
            model.zero_grad()

    return step


def llama_fake() -> Work:
    from torch._subclasses.fake_tensor import FakeTensorMode

    return llama(context=FakeTensorMode())


def unrecorded(work: Work) -> Work:
    """The same work while nobody notes where tensors come from."""
    from devsan import _core

    def quiet() -> None:
        _core.stop_recording()
        try:
            work()
        finally:
            _core.start_recording()

    return quiet


def place(depth: int) -> Work:
    """TIMES tensors that are made on a GPU, one after the other, under so many Python frames."""
    import torch

    def down(left: int) -> None:
        if left:
            return down(left - 1)
        for _ in range(TIMES):
            torch.empty(4, device="cuda:0")
        return None

    return lambda: down(depth)


def training_step(width: int, batch: int, tokens: int) -> Work:
    """A step of an encoder layer with AdamW on a GPU."""
    import torch

    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(width, 4, 4 * width, batch_first=True, dropout=0.0).cuda()
    optimizer = torch.optim.AdamW(layer.parameters(), foreach=True)
    x = torch.randn(batch, tokens, width, device="cuda")

    def step() -> None:
        layer(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def over(first: str, second: str) -> dict[str, str]:
    """A map of the Llama: the first two layers on one device, the rest on the other."""
    begin = dict.fromkeys(("model.embed_tokens", "model.rotary_emb", "model.layers.0", "model.layers.1"), first)
    return {**begin, **dict.fromkeys(("model.layers.2", "model.layers.3", "model.norm", "lm_head"), second)}


WORKS: dict[str, Callable[[], Work]] = {
    "add cpu": lambda: add("cpu"),
    "add cuda": lambda: add("cuda:0"),
    "add fake": add_fake,
    "mm cuda": lambda: mm("cuda:0"),
    "llama cpu": llama,
    "llama cuda": lambda: llama("cuda:0"),
    "llama cpu hooks": lambda: llama(device_map=over("cpu", "cpu")),
    "llama cuda hooks": lambda: llama(device_map=over("cuda:0", "cuda:1")),
    "llama unrecorded": lambda: unrecorded(llama(device_map=over("cuda:0", "cuda:1"))),
    "llama fake": llama_fake,
    "step wide": lambda: training_step(256, 8, 128),
    "step narrow": lambda: training_step(32, 2, 8),
    "place 10": lambda: place(10),
    "place unrecorded 10": lambda: unrecorded(place(10)),
    "place 40": lambda: place(40),
    "place unrecorded 40": lambda: unrecorded(place(40)),
}
CALLS = {"add": 5000, "mm": 5000, "llama": 2, "step": 2, "place": 1}
