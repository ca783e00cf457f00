"""Programs that train or generate with language models, and with sound."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from training_steps import BF16, Figures, figures, steps, tokens


def llama(hidden: int, inner: int, layers: int, heads: int, groups: int, words: int, dtype: torch.dtype = BF16) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=hidden, intermediate_size=inner, num_hidden_layers=layers, num_attention_heads=heads,
        num_key_value_heads=groups, vocab_size=words, tie_word_embeddings=False,
    )  # fmt: skip
    with torch.device("cuda"):
        torch.set_default_dtype(dtype)
        model = LlamaForCausalLM(config)
        torch.set_default_dtype(torch.float32)
    return model


def llama_1b(dtype: torch.dtype = BF16) -> Any:
    return llama(2048, 8192, 16, 32, 8, 128256, dtype)


def language(model: Any, rows: int, length: int, low: bool = False, **options: Any) -> Figures:
    texts = tokens(rows, length)
    mode: Callable[[], AbstractContextManager[Any]] = (lambda: torch.autocast("cuda", BF16)) if low else nullcontext

    def step() -> Tensor:
        with mode():
            loss: Tensor = model(input_ids=texts, labels=texts, use_cache=False).loss
        return loss

    return steps(model.parameters(), step, **options)


def llama_1b_bf16() -> Figures:
    return language(llama_1b(), 4, 1024)


def llama_1b_autocast() -> Figures:
    return language(llama_1b(torch.float32), 2, 1024, low=True)


def llama_1b_checkpoints() -> Figures:
    model = llama_1b()
    model.gradient_checkpointing_enable()
    return language(model.train(), 8, 2048)


def llama_1b_eager_attention() -> Figures:
    model = llama_1b()
    model.set_attn_implementation("eager")
    return language(model, 2, 1024)


def llama_1b_fused_adam() -> Figures:
    return language(llama_1b(), 4, 1024, fused=True)


def llama_8b_lora() -> Figures:
    from peft import LoraConfig, get_peft_model

    model = llama(4096, 14336, 32, 32, 8, 128256)
    model = get_peft_model(model, LoraConfig(r=16, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"]))
    return language(model, 2, 1024)


def llama_8b_generates() -> Figures:
    model = llama(4096, 14336, 32, 32, 8, 128256).eval()
    with torch.no_grad():
        model.generate(tokens(4, 1024), max_new_tokens=16, min_new_tokens=16, do_sample=False, pad_token_id=0)
    return figures()


def trainer_gpt2() -> Figures:
    """transformers' Trainer with its defaults, GPT-2 of 355 million parameters in bf16."""
    import tempfile

    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    model = GPT2LMHeadModel(GPT2Config(n_embd=1024, n_layer=24, n_head=16))
    rows = [{"input_ids": row, "labels": row} for row in torch.randint(50000, (24, 512))]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, per_device_train_batch_size=8, max_steps=3, bf16=True, report_to=[], save_strategy="no",
            disable_tqdm=True, logging_strategy="no",
        )  # fmt: skip
        Trainer(model, arguments, train_dataset=rows).train()
    return figures()


def scaler_fp16() -> Figures:
    """GPT-2 of 124 million parameters with GradScaler and clipped gradients."""
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config()).to("cuda").train()
    texts, scaler = tokens(8, 1024), torch.amp.GradScaler("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        with torch.autocast("cuda", torch.float16):
            loss = model(input_ids=texts, labels=texts, use_cache=False).loss
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return figures()


def bert_base() -> Figures:
    from transformers import BertConfig, BertForSequenceClassification

    model = BertForSequenceClassification(BertConfig()).to("cuda").train()
    texts, labels = tokens(32, 512), torch.zeros(32, dtype=torch.long, device="cuda")
    return steps(model.parameters(), lambda: model(input_ids=texts, labels=labels).loss)


def t5_base() -> Figures:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(d_model=768, d_ff=3072, num_layers=12, num_heads=12, decoder_start_token_id=0)
    model = T5ForConditionalGeneration(config).to("cuda").train()
    texts, answers = tokens(8, 512), tokens(8, 128)
    return steps(model.parameters(), lambda: model(input_ids=texts, labels=answers).loss)


def whisper_small() -> Figures:
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(
        d_model=768, encoder_layers=12, decoder_layers=12, encoder_attention_heads=12, decoder_attention_heads=12,
        encoder_ffn_dim=3072, decoder_ffn_dim=3072,
    )  # fmt: skip
    model = WhisperForConditionalGeneration(config).to("cuda").train()
    sound, texts = torch.randn(4, 80, 3000).to("cuda"), tokens(4, 128)
    return steps(model.parameters(), lambda: model(input_features=sound, labels=texts).loss)


def mixtral_small() -> Figures:
    from transformers import MixtralConfig, MixtralForCausalLM

    config = MixtralConfig(
        hidden_size=1024, intermediate_size=3584, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=8
    )
    with torch.device("cuda"):
        model = MixtralForCausalLM(config).to(BF16)
    return language(model, 4, 512)


def lstm() -> Figures:
    words, cells, head = (
        nn.Embedding(30000, 512),
        nn.LSTM(512, 1024, 3, batch_first=True, dropout=0.1),
        nn.Linear(1024, 30000),
    )
    model = nn.ModuleList([words, cells, head]).to("cuda")
    texts = tokens(32, 128)

    def step() -> Tensor:
        return functional.cross_entropy(head(cells(words(texts))[0]).flatten(0, 1), texts.flatten())

    return steps(model.parameters(), step)
