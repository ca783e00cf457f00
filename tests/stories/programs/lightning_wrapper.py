"""Fit a model of transformers with Lightning in two ranks (Lightning-AI/pytorch-lightning#20276).

    devsan run --gpus 2 lightning_wrapper.py

The model is loaded before fit, when the current GPU of every rank is still 0, and accelerate hangs its hooks on it, as
it did on every quantized model until 1.13. Lightning then moves the weights to the GPU of the rank, and not the hooks.

``--fix rank`` loads onto the GPU of LOCAL_RANK; ``--fix hooks`` takes the hooks off before fit; ``--fix input`` moves
the input to self.device, as the article does.
"""

import os
import sys
import tempfile

import lightning as pl
import torch
from accelerate import dispatch_model
from accelerate.hooks import remove_hook_from_submodules
from transformers import Qwen2Config, Qwen2ForCausalLM

FIX = sys.argv[sys.argv.index("--fix") + 1] if "--fix" in sys.argv else ""


def load():
    gpu = int(os.environ.get("LOCAL_RANK", 0)) if FIX == "rank" else torch.cuda.current_device()
    heads = {"num_attention_heads": 4, "num_key_value_heads": 4, "tie_word_embeddings": False}
    torch.manual_seed(0)
    config = Qwen2Config(vocab_size=512, hidden_size=64, intermediate_size=128, num_hidden_layers=4, **heads)
    with tempfile.TemporaryDirectory() as folder:
        Qwen2ForCausalLM(config).save_pretrained(folder)
        model = Qwen2ForCausalLM.from_pretrained(folder, device_map={"": gpu})
    return dispatch_model(model, device_map={"": gpu}, force_hooks=True)


class Wrapper(pl.LightningModule):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        if FIX == "input":
            tokens = tokens.to(self.device)
        return self.model(input_ids=tokens, labels=tokens)

    def training_step(self, batch, index):
        return self(batch).loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


model = load()
if FIX == "hooks":
    remove_hook_from_submodules(model)
data = torch.utils.data.DataLoader(torch.randint(0, 512, (8, 6)), batch_size=2)
quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
trainer = pl.Trainer(accelerator="gpu", devices=2, strategy="ddp", max_steps=2, **quiet)
trainer.fit(Wrapper(model), data)
sys.stdout.flush()  # ranks share the pipe: what follows is one write
print(f"fit ok, rank {trainer.global_rank}\n", end="", flush=True)
