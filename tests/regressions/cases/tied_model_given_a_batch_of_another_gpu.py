# expect: DV101 | gpus: 2 | operands: input_ids, self.wte.weight | owner: program
"""The model shares its embedding with its head, and is whole on one GPU: the batch is on another one."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
teacher = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_positions=32, n_embd=32, n_layer=2, n_head=2)).to("cuda:1")
ids = torch.randint(0, 100, (2, 8), device="cuda:0")
print(teacher(input_ids=ids).logits.sum())
