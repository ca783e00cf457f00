# expect: DV101 | gpus: 2 | operands: output, delta | owner: program
"""EasyEdit 419: the edited layer is where the map put it, the optimized vector where hparams.device says."""

import torch
from tiny import llama_on_gpus


class HyperParams:
    device = 0


model = llama_on_gpus(
    {
        "model.embed_tokens": 0,
        "model.layers.0": 0,
        "model.layers.1": 1,
        "model.norm": 1,
        "model.rotary_emb": 1,
        "lm_head": 1,
    }
)


def compute_z(model, hparams):
    delta = torch.zeros((model.config.hidden_size,), requires_grad=True, device=f"cuda:{hparams.device}")

    def edit_output(module, inputs, output):
        output[:, -1] += delta
        return output

    model.model.layers[1].mlp.register_forward_hook(edit_output)
    model(torch.tensor([[1, 2, 3]], device=0))


compute_z(model, HyperParams())
