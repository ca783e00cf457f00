"""Programs that train and generate at the size of real models, with torch, transformers, PEFT and torchvision.

`programs.py NAME` runs one and prints its figures in bytes as a line of JSON: what was held and reserved at the peak,
and what is held at the end. On a GPU they measure; under `devsan run --full-size` they predict.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import language
import pictures
import torch
from training_steps import Figures

PROGRAMS: dict[str, Callable[[], Figures]] = {
    each.__name__: each
    for each in (
        language.llama_1b_bf16, language.llama_1b_autocast, language.llama_1b_checkpoints,
        language.llama_1b_eager_attention, language.llama_1b_fused_adam, language.llama_8b_lora,
        language.llama_8b_generates, language.trainer_gpt2, language.scaler_fp16, language.bert_base, language.t5_base,
        language.whisper_small, language.mixtral_small, pictures.resnet50, pictures.resnet50_autocast,
        pictures.vit_b_16_autocast, pictures.convnext_tiny, pictures.unet, language.lstm,
    )
}  # fmt: skip

if __name__ == "__main__":
    torch.manual_seed(0)
    print(json.dumps(PROGRAMS[sys.argv[1]]()))
