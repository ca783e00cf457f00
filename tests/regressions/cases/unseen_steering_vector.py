# expect: DV101 | gpus: 2 | operands: vector, output | owner: transformers
"""A steering vector is read at one layer and added at a later one; the map has put a GPU between them."""

import tempfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(
    vocab_size=32,
    hidden_size=16,
    intermediate_size=32,
    num_hidden_layers=4,
    num_attention_heads=2,
    num_key_value_heads=2,
)
device_map = {
    "model.embed_tokens": 0,
    "model.rotary_emb": 0,
    "model.layers.0": 0,
    "model.layers.1": 0,
    "model.layers.2": 1,
    "model.layers.3": 1,
    "model.norm": 1,
    "lm_head": 1,
}


class Steering:
    def __init__(self, model, source, target, scale=4.0):
        self.model, self.source, self.target, self.scale = model, source, target, scale
        self.vector = None

    @torch.no_grad()
    def read(self, positive, negative):
        a = self.model(positive, output_hidden_states=True).hidden_states[self.source]
        b = self.model(negative, output_hidden_states=True).hidden_states[self.source]
        self.vector = (a - b).mean(dim=(0, 1))

    def hook(self, module, args, output):
        vector = self.scale * self.vector
        return output + vector

    def __enter__(self):
        self.handle = self.model.model.layers[self.target].register_forward_hook(self.hook)
        return self

    def __exit__(self, *error):
        self.handle.remove()


with tempfile.TemporaryDirectory() as folder:
    LlamaForCausalLM(config).save_pretrained(folder)
    model = LlamaForCausalLM.from_pretrained(folder, device_map=device_map).eval()
ids = torch.randint(0, 32, (2, 5), device="cuda:0")
steering = Steering(model, source=1, target=3)
steering.read(ids[:1], ids[1:])
with steering, torch.no_grad():
    print(model(ids).logits.shape)
