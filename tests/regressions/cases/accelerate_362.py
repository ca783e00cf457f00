# expect: DV105 | gpus: 2 | operands: - | owner: -
"""accelerate 362: the map was made from the base model's names, so it reaches no module of the wrapper.

No tensor is named: accelerate refuses the map before anything is computed.
"""

import torch
from accelerate import dispatch_model
from transformers import OPTConfig, OPTForCausalLM

config = OPTConfig(vocab_size=32, hidden_size=16, num_hidden_layers=2, ffn_dim=32, num_attention_heads=2,
                   max_position_embeddings=16, word_embed_proj_dim=16)  # fmt: skip
model = OPTForCausalLM(config)
where = {"decoder.embed_tokens": 0, "decoder.embed_positions": 0, "decoder.layers.0": 0, "decoder.layers.1": 1,
         "decoder.final_layer_norm": 1}  # fmt: skip
model = dispatch_model(model, device_map=where)
model(torch.tensor([[1, 2, 3]], device="cuda:0"))
