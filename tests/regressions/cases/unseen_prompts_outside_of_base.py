# expect: DV109 | gpus: 1 | operands: prompts, inputs_embeds | owner: peft
"""PEFT: after the prompts were added, only the base model is moved to the GPU."""

import torch
from peft import PromptEncoderConfig, TaskType, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

base = GPT2LMHeadModel(GPT2Config(vocab_size=20, n_positions=32, n_embd=8, n_layer=1, n_head=2))
config = PromptEncoderConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=4, encoder_hidden_size=8)
model = get_peft_model(base, config)
model.base_model.to("cuda:0")
model(input_ids=torch.randint(0, 20, (2, 6), device="cuda:0"))
