"""Tiny random models for the wild cases."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")


def llama_on_gpus(device_map: dict[str, Any]) -> Any:
    """Returns a two-layer Llama that from_pretrained has put where ``device_map`` says."""
    from transformers import LlamaConfig, LlamaForCausalLM, logging

    logging.set_verbosity_error()
    with contextlib.suppress(AttributeError):
        logging.disable_progress_bar()
    config = LlamaConfig(
        vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, tie_word_embeddings=False,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        LlamaForCausalLM(config).save_pretrained(folder)
        return LlamaForCausalLM.from_pretrained(folder, device_map=device_map)
