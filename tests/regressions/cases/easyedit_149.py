# expect: DV101 | gpus: 2 | operands: cur_out, delta | owner: program
"""EasyEdit 149: ROME's v* is allocated on the configured device, the edited layer is elsewhere."""

from dataclasses import dataclass

import torch
from tiny import llama_on_gpus


@dataclass
class ROMEHyperParams:
    device: int = 0
    v_loss_layer: int = 1
    layers: tuple = (1,)


def compute_v(model, hparams):
    delta = torch.zeros((model.config.hidden_size,), requires_grad=True, device=f"cuda:{hparams.device}")

    def edit_output_fn(module, inputs, cur_out):
        for i, idx in enumerate([2]):
            cur_out[i, idx, :] += delta
        return cur_out

    handle = model.model.layers[hparams.layers[0]].mlp.down_proj.register_forward_hook(edit_output_fn)
    with torch.set_grad_enabled(True):
        logits = model(torch.tensor([[1, 2, 3]], device=f"cuda:{hparams.device}")).logits
    handle.remove()
    return logits


model = llama_on_gpus(
    {"model.embed_tokens": 0, "model.rotary_emb": 0, "model.layers.0": 0, "model.layers.1": 1, "model.norm": 1,
     "lm_head": 1}
)  # fmt: skip
compute_v(model, ROMEHyperParams())
