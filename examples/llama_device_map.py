"""Load a Llama over every GPU in the way that the argument says, print where it went, and generate.

    python llama_device_map.py [auto | balanced | balanced_low_0 | sequential | ints | names | 2]

``ints`` and ``names`` are maps written by hand, with GPUs as numbers and as "cuda:1"; a number is one GPU for all.
"""

import sys
import tempfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM

choice = sys.argv[1] if len(sys.argv) > 1 else "auto"
torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=128,
    hidden_size=64,
    intermediate_size=160,
    num_hidden_layers=8,
    num_attention_heads=4,
    eos_token_id=None,  # random weights would end the text by accident
)

by_hand = {"model.embed_tokens": 0, "model.rotary_emb": 0, "model.norm": 3, "lm_head": 3}
by_hand |= {f"model.layers.{layer}": layer // 2 for layer in range(8)}
device_maps = {"ints": by_hand, "names": {name: f"cuda:{gpu}" for name, gpu in by_hand.items()}}
device_map = int(choice) if choice.isdecimal() else device_maps.get(choice, choice)

with tempfile.TemporaryDirectory() as folder:
    LlamaForCausalLM(config).save_pretrained(folder)
    model = LlamaForCausalLM.from_pretrained(folder, device_map=device_map)

for name, device in getattr(model, "hf_device_map", {"": model.device}).items():
    print(f"{name or '(all)':20} {device}")
prompt = torch.tensor([[1, 2, 3, 4]], device=model.device)
tokens = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=12, do_sample=False)
print("tokens", tokens[0].tolist())
