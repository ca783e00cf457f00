"""Fine-tuning with ZeRO-3, optimizer and parameters offloaded to the CPU, as MiniCPM-V's ds_config_zero3.json does.

One rank, with as many trainings of two steps as words: the norm at which each clips its gradients.
"""

# ruff: noqa: I001
import sys

import old_deepspeed  # noqa: F401  before deepspeed
import deepspeed
import torch
from torch import nn


class Tiny(nn.Module):
    """A vision-language model's language side in small: embeddings, a layer, a head."""

    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(64, 32)
        self.layer = nn.Linear(32, 32)
        self.lm_head = nn.Linear(32, 64, bias=False)

    def forward(self, input_ids, labels):
        hidden = torch.relu(self.layer(self.embed_tokens(input_ids)))
        logits = self.lm_head(hidden).float()
        return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


def ds_config(clip):
    return {
        "bf16": {"enabled": True},
        "train_micro_batch_size_per_gpu": 2,
        "gradient_clipping": clip,
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "zero_optimization": {
            "stage": 3,
            "offload_optimizer": {"device": "cpu", "pin_memory": True},
            "offload_param": {"device": "cpu", "pin_memory": True},
        },
    }


def train(clip):
    torch.manual_seed(0)
    model = Tiny()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=ds_config(clip))
    tokens = torch.arange(24, device=engine.device).reshape(2, 12)
    losses = []
    for _ in range(2):
        loss = engine(tokens, (tokens + 1) % 64)
        engine.backward(loss)
        engine.step()
        losses.append(round(loss.item(), 2))
    print(f"deepspeed {deepspeed.__version__}, clip {clip}: losses {losses}")


for word in sys.argv[1:]:
    train(float(word))
