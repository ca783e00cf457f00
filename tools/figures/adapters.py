"""Predict the memory of PEFT's comparison of methods, beside what it measured on an NVIDIA L40S.

python tools/figures/adapters.py [METHOD ...]

PEFT trains Llama 3.2 3B on MetaMathQA with each of its methods and publishes the memory: method_comparison/MetaMathQA
at commit 5d602fd, with torch 2.13.0+cu130. Each is rehearsed here at full size. adapters.toml has the configurations
and the figures that were published. The texts are not here, so three lengths of a batch are chosen, such that the first
method agrees, and hold for all others. The longest text has 768 tokens, by PEFT's default_training_params.json.
"""

import logging
import multiprocessing
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import devsan

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FIGURES = tomllib.loads(Path(__file__).with_name("adapters.toml").read_text(encoding="utf-8"))
SHORTEST = 100


class Figure(NamedTuple):
    """One figure: its words, and the length of text at which it is predicted."""

    words: str
    tokens: int


LENGTHS = {
    "allocated": Figure("allocated after a step, mean", 218),
    "reserved": Figure("reserved, mean", 363),
    "reserved_99th": Figure("reserved, 99th percentile", 641),
    "reserved_max": Figure("reserved, maximum", 768),
}


def llama():
    """Return the configuration of meta-llama/Llama-3.2-3B."""
    from transformers import LlamaConfig

    return LlamaConfig(
        hidden_size=3072, intermediate_size=8192, num_hidden_layers=28, num_attention_heads=24, num_key_value_heads=8,
        head_dim=128, vocab_size=128256, max_position_embeddings=131072, tie_word_embeddings=True,
    )  # fmt: skip


def predicted(config: dict | None) -> dict[str, int]:
    """Return the figures of one method in bytes, by name, after the step that PEFT's run.py makes."""
    import torch
    from peft import get_peft_config, get_peft_model
    from transformers import AutoModelForCausalLM

    with torch.device("cuda"):
        model = AutoModelForCausalLM.from_config(llama(), dtype=torch.bfloat16)
    if config is not None:
        model = get_peft_model(model, get_peft_config(dict(config)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1)
    model.train()
    figures = {}
    steps = 0
    for name, figure in LENGTHS.items():
        # PEFT sorts each twenty batches, the longest first: a long one comes behind the shortest of those before.
        for length in (SHORTEST, figure.tokens):
            torch.cuda.empty_cache()
            tokens = torch.randint(128000, (4, length)).to("cuda")
            optimizer.zero_grad()
            outputs = model(input_ids=tokens, attention_mask=torch.ones_like(tokens), labels=tokens.clone())
            outputs.loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            steps += 1
            if config is not None and config["peft_type"] == "ADALORA":
                model.base_model.update_and_allocate(steps)
        figures[name] = torch.cuda.memory_allocated() if name == "allocated" else torch.cuda.memory_reserved()
    return figures


def rehearsed(config: dict | None) -> dict[str, int]:
    """Return the figures of one method, rehearsed on one emulated L40S of this process."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    with devsan.emulate(gpus="1:l40s-48g", full_size=True):
        return predicted(config)


def main(methods: list[str]) -> int:
    """Print a row for each method: predicted / measured in GB of 10^9 bytes, and the difference."""
    unknown = [method for method in methods if method not in FIGURES]
    if unknown:
        print(f"expected methods of adapters.toml, got {', '.join(unknown)}", file=sys.stderr)
        return 2
    print("| method | " + " | ".join(figure.words for figure in LENGTHS.values()) + " |")
    print("| --- |" + " ---: |" * len(LENGTHS))
    for method in methods or FIGURES:
        published = FIGURES[method]
        # A process for each method: none finds memory that another has reserved.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            figures = pool.apply(rehearsed, (published.get("config"),))
        cells = [
            f"{figures[name] / 1e9:.2f} / {published[name] / 1e9:.2f} ({figures[name] / published[name] - 1:+.1%})"
            for name in LENGTHS
        ]
        print(f"| {method.replace('llama-3.2-3B-', '')} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
