# expect: DV101 | gpus: 3 | operands: self.embed_tokens.weight, input_ids | owner: program
"""EasyEdit 383: inputs are sent to hparams.device, which is not where the model's first part is."""

from types import SimpleNamespace

import torch

hparams = SimpleNamespace(device=2)


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = torch.nn.Embedding(8, 4).to("cuda:0")
        self.layer = torch.nn.Linear(4, 4).to("cuda:1")

    def forward(self, input_ids):
        inputs_embeds = self.embed_tokens(input_ids)
        return self.layer(inputs_embeds.to("cuda:1"))


def test_prediction_acc(model, prompt, hparams):
    tokens = {"input_ids": torch.tensor(prompt)}
    prompt_target_tok = {name: value.to(f"cuda:{hparams.device}") for name, value in tokens.items()}
    return model(**prompt_target_tok)


test_prediction_acc(Decoder(), [[1, 2]], hparams)
