"""QLoRA: adapters over a base of 8 or 4 bits, replicated by DDP and in the Trainer."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import bitsandbytes  # noqa: F401  its operators
import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from rank import Rank, Record
from safetensors.torch import save_file
from tiny import Sentences, language_model, sentences_of
from torch.nn.parallel import DistributedDataParallel
from trainer_cases import arguments, trained
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer

OWN_GROUP = True


def quantized(rank: Rank, **bits: Any) -> Any:
    folder = f"{rank.folder}/{rank.number}"  # save_pretrained writes in rank 0 alone
    model = language_model(hidden_size=64, intermediate_size=128)
    model.config.save_pretrained(folder)
    save_file(model.state_dict(), f"{folder}/model.safetensors", metadata={"format": "pt"})
    model = AutoModelForCausalLM.from_pretrained(
        folder,
        quantization_config=BitsAndBytesConfig(**bits),
        device_map={"": rank.device.index if rank.on_gpu else "cpu"},
        dtype=torch.float32,
    )
    model = prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)
    torch.manual_seed(2)
    config = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "up_proj"], task_type="CAUSAL_LM")
    return get_peft_model(model, config)


def trainable(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name.removeprefix("module."): p for name, p in model.named_parameters() if p.requires_grad}


def in_trainer(rank: Rank, **bits: Any) -> Record:
    model = quantized(rank, **bits)
    # Adam would make much of the last bits of gradients that are nearly 0.
    trainer = Trainer(model, arguments(rank, learning_rate=0.1, optim="sgd"), train_dataset=Sentences())
    return {**trained(trainer, rank), "weights": trainable(model)}


@contextlib.contextmanager
def portable_scales(rank: Rank) -> Iterator[None]:
    """On the CPU, quantizes scales as on emulated GPUs: by bitsandbytes' portable kernel.

    Its kernel for the CPU, in C++, takes the other one of the two nearest codes for one value in 700.
    """
    if rank.on_gpu:
        yield
        return
    operator = torch.ops.bitsandbytes.quantize_blockwise.default
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.PrivateUse1)  # for which it has none: the portable one
    with torch.library._scoped_library("bitsandbytes", "IMPL") as library:
        library.impl("quantize_blockwise", lambda *given: operator.redispatch(keys, *given), "CPU", allow_override=True)
        yield


def four_bits(rank: Rank) -> Record:
    """nf4 with its scales quantized as well, in the Trainer."""
    bits = {"bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True, "bnb_4bit_compute_dtype": torch.float32}
    with portable_scales(rank):
        return in_trainer(rank, load_in_4bit=True, **bits)


def eight_bits(rank: Rank) -> Record:
    """Over DDP, with an optimizer whose state has 8 bits. After four_bits, whose process group it uses."""
    from bitsandbytes.optim import AdamW8bit

    model = quantized(rank, load_in_8bit=True)
    wrapped = DistributedDataParallel(model, device_ids=rank.device_ids)
    optimizer = AdamW8bit(trainable(model).values(), lr=0.01)
    losses = []
    for batch in sentences_of(rank):
        loss = wrapped(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return {"losses": losses, "weights": trainable(model)}
