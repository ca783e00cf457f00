# expect: DV109 | gpus: 2 | operands: dropout(x), lora_A.weight | owner: program
"""peft 1277: the adapter of one layer is on the neighbor's GPU."""

import torch
from accelerate import dispatch_model
from peft import LoraConfig, get_peft_model
from transformers import MistralConfig, MistralForCausalLM

config = MistralConfig(vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
                       num_key_value_heads=2, tie_word_embeddings=False)  # fmt: skip
model = MistralForCausalLM(config)
where = {"model.embed_tokens": 0, "model.layers.0": 0, "model.layers.1": 1, "model.norm": 1, "model.rotary_emb": 0,
         "lm_head": 1}  # fmt: skip
model = dispatch_model(model, where, skip_keys="past_key_values")
model = get_peft_model(model, LoraConfig(r=2, target_modules=["q_proj"]))
model.base_model.model.model.layers[1].self_attn.q_proj.lora_A.to("cuda:0")
model(input_ids=torch.tensor([[1, 2, 3]], device="cuda:0"))
