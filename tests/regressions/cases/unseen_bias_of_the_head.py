# expect: DV101 | gpus: 2 | operands: scores, self.bonus | owner: transformers
"""A logits processor adds what it computed from the head's weights, on the last GPU, to scores on the inputs' GPU."""

import tiny
import torch
from transformers import LogitsProcessor, LogitsProcessorList

model = tiny.llama_on_gpus({"model.embed_tokens": 0, "model.rotary_emb": 0, "model.layers.0": 0, "model.layers.1": 1,
                            "model.norm": 1, "lm_head": 1})  # fmt: skip


class Bonus(LogitsProcessor):
    def __init__(self, head):
        self.bonus = head.weight.detach() @ head.weight[3].detach()

    def __call__(self, input_ids, scores):
        return scores + self.bonus


generating = {"max_new_tokens": 2, "min_new_tokens": 2, "do_sample": False, "pad_token_id": 2}
processors = LogitsProcessorList([Bonus(model.get_output_embeddings())])
model.generate(torch.ones(1, 3, dtype=torch.long, device="cuda:0"), logits_processor=processors, **generating)
