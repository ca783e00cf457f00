# expect: DV101 | gpus: 2 | operands: target_init, delta | owner: program
"""EasyEdit 103: one more of six sites: the final sum."""

import torch
from tiny import llama_on_gpus

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


class Editor:
    def __init__(self, hparams):
        self.device = torch.device(f"cuda:{hparams['device']}")

    def run(self):
        seen = []
        model.model.layers[1].mlp.register_forward_hook(lambda module, inputs, output: seen.append(output))
        model(torch.tensor([[1, 2, 3]], device=0))
        delta = torch.randn(model.config.hidden_size, device=self.device)
        target_init = seen[0][0, -1].clone()
        return target_init + delta


Editor({"device": 0}).run()
