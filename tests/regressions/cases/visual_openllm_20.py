# expect: DV201 | gpus: 2 | operands: self.weight, hidden_states.to(input_dtype) | owner: program
"""visual-openllm 20: the map spreads the language model, and the app assigns a GPU to each tool, this one too."""

import torch
from tiny import llama_on_gpus

model = llama_on_gpus(
    {"model.embed_tokens": 0, "model.rotary_emb": 0, "model.layers.0": 0, "model.layers.1": 1, "model.norm": 1,
     "lm_head": 1}
)  # fmt: skip
tools = {"ImageCaptioning": (torch.nn.Linear(4, 4), "cuda:0"), "Chat": (model.model.layers, "cuda:0")}
for tool, device in tools.values():
    tool.to(device)
model(torch.tensor([[1, 2, 3]], device="cuda:0"))
