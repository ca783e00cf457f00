# expect: DV104 | gpus: 2 | operands: logits, labels | owner: program
"""self-llm 217: remote code computes its loss without bringing the labels to the logits."""

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


def loss_of(model, input_ids, labels):
    hidden = model.model(input_ids).last_hidden_state
    logits = model.lm_head(hidden.to(model.lm_head.weight.device))
    return torch.nn.functional.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1))


ids = torch.tensor([[1, 2, 3]], device=0)
loss_of(model, ids, ids.clone())
