# expect: DV201 | gpus: 2 | operands: self.weight, hidden_states.to(input_dtype) | owner: program
"""ChatGLM3 687: a script dispatches, then moves a part of it; the hooks are not told."""

import torch
from tiny import llama_on_gpus

model = llama_on_gpus(
    {"model.embed_tokens": 0, "model.rotary_emb": 0, "model.layers.0": 0, "model.layers.1": 1, "model.norm": 1,
     "lm_head": 1}
)  # fmt: skip
model = model.eval()
model.model.cuda()
model.generate(torch.tensor([[1, 2, 3]]).to("cuda"), max_new_tokens=2, do_sample=False)
