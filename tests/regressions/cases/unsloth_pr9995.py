# expect: DV101 | gpus: 2 | operands: self.embed_tokens.weight, ids | owner: program
"""unsloth PR 9995: a planner puts the embedding on GPU 1, the trainer sends batches to GPU 0."""

import torch


class Embedded(torch.nn.Module):
    def __init__(self, plan):
        super().__init__()
        self.hf_device_map = plan
        self.embed_tokens = torch.nn.Embedding(8, 4).to(plan["embed_tokens"])
        self.lm_head = torch.nn.Linear(4, 8).to(plan["lm_head"])

    def forward(self, ids):
        return self.lm_head(self.embed_tokens(ids).to(self.lm_head.weight.device))


class TrainingArguments:
    device = torch.device("cuda", 0)


class Trainer:
    def __init__(self, model, args):
        self.model, self.args = model, args

    def _prepare_inputs(self, batch):
        return {name: value.to(self.args.device) for name, value in batch.items()}

    def training_step(self, batch):
        return self.model(**self._prepare_inputs(batch)).sum()


model = Embedded({"embed_tokens": "cuda:1", "lm_head": "cuda:0"})
Trainer(model, TrainingArguments()).training_step({"ids": torch.tensor([[1, 2, 3]])})
