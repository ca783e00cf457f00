"""Edit GPT-J with MEMIT through the modules that EasyEdit published (easyeditor 0.0.1.dev0, zjunlp/EasyEdit#419).

    easyeditor_memit.py FOLDER [LAYERS]     the folder that holds the package easyeditor; the layers to edit

Only compute_z, compute_ks and memit_main are imported: the package's own front pulls in every editor that it has. The
second moment, which is downloaded otherwise, is the identity.
"""

import contextlib
import io
import sys
import tempfile
import types
from pathlib import Path

import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import GPT2TokenizerFast, GPTJConfig, GPTJForCausalLM

LAYERS = (*sys.argv[2:], "1,2,3,4,5")[0]
WORDS = ["The Eiffel Tower is in the city of Paris", "Steve Jobs was the founder of Apple"]
REQUESTS = [
    {"case_id": 0, "prompt": "The Eiffel Tower is in the city of", "subject": "Eiffel Tower", "target_new": "Apple"},
    {"case_id": 1, "prompt": "Steve Jobs was the founder of", "subject": "Steve Jobs", "target_new": "Paris"},
]


def import_memit(folder):
    """Imports the modules of MEMIT under empty packages, so that no __init__ of theirs runs."""
    for name in [name for name in sys.modules if name.split(".")[0] == "easyeditor"]:
        del sys.modules[name]
    for name in ("", ".models", ".models.memit", ".models.rome", ".util"):
        package = types.ModuleType(f"easyeditor{name}")
        package.__path__ = [str(Path(folder, "easyeditor", *name.split(".")))]
        sys.modules[package.__name__] = package
    stand_in = types.ModuleType("easyeditor.models.rome.layer_stats")
    stand_in.layer_stats = identity_moment
    sys.modules[stand_in.__name__] = stand_in
    from easyeditor.models.memit import memit_hparams, memit_main

    return memit_hparams.MEMITHyperParams, memit_main


def identity_moment(model, tokenizer, layer_name, *_, **__):
    moment = torch.eye(model.get_submodule(layer_name).in_features)
    return types.SimpleNamespace(mom2=types.SimpleNamespace(moment=lambda: moment))


def save_gpt_j(folder):
    """A tiny GPT-J with random weights and a tokenizer of a few sentences, in a folder that says so."""
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(WORDS * 4, vocab_size=400, special_tokens=["<|endoftext|>"], show_progress=False)
    ends = dict.fromkeys(("bos_token", "unk_token", "pad_token"), "<|endoftext|>")
    tokenizer = GPT2TokenizerFast(tokenizer_object=trained._tokenizer, padding_side="left", **ends)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = GPTJConfig(vocab_size=400, n_embd=64, n_layer=12, n_head=4, rotary_dim=8, n_positions=64)
    GPTJForCausalLM(config).save_pretrained(folder)
    return tokenizer


HyperParams, memit = import_memit(sys.argv[1])
memit.CONTEXT_TEMPLATES_CACHE = [["{}"]]  # generated otherwise
with tempfile.TemporaryDirectory(prefix="gpt-j-") as folder:
    tokenizer = save_gpt_j(folder)
    model = GPTJForCausalLM.from_pretrained(folder, device_map="auto")
hparams = HyperParams(
    layers=[int(number) for number in LAYERS.split(",")], layer_selection="all", fact_token="subject_last",
    v_num_grad_steps=4, v_lr=0.5, v_loss_layer=11, v_weight_decay=0.5, clamp_norm_factor=0.75, kl_factor=0.0625,
    mom2_adjustment=True, mom2_update_weight=10.0, mom2_dataset="wikipedia", mom2_n_samples=10, mom2_dtype="float32",
    rewrite_module_tmp="transformer.h.{}.mlp.fc_out", layer_module_tmp="transformer.h.{}",
    mlp_module_tmp="transformer.h.{}.mlp", attn_module_tmp="transformer.h.{}.attn", ln_f_module="transformer.ln_f",
    lm_head_module="lm_head", alg_name="MEMIT", device=model.device.index, model_name="gpt-j", stats_dir="",
    model_parallel=True,
)  # fmt: skip
with contextlib.redirect_stdout(io.StringIO()):  # a line for every step
    edited, _ = memit.apply_memit_to_model(model, tokenizer, REQUESTS, hparams)
for number in hparams.layers:
    print(number, f"{edited.transformer.h[number].mlp.fc_out.weight.detach().double().norm().item():.9f}")
