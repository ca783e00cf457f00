"""Spread a Llama over two small GPUs with accelerate; what does not fit waits in host memory and is sent when used."""

import torch
from accelerate import dispatch_model, infer_auto_device_map
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=128,
    hidden_size=64,
    intermediate_size=160,
    num_hidden_layers=8,
    num_attention_heads=4,
)
model = LlamaForCausalLM(config).eval()
tokens = torch.randint(0, config.vocab_size, (2, 24))

budgets = dict.fromkeys(range(min(2, torch.cuda.device_count())), "700KB")
device_map = infer_auto_device_map(model, {**budgets, "cpu": "1GB"}, no_split_module_classes=["LlamaDecoderLayer"])
dispatch_model(model, device_map)

for name, device in device_map.items():
    print(f"{name:20} {device}")
with torch.no_grad():
    output = model(tokens, labels=tokens)
logits, losses = output.logits, [output.loss.item()]
waiting = [name for name, parameter in model.named_parameters() if parameter.is_meta]
print(f"{len(waiting)} of {len(list(model.parameters()))} parameters wait in host memory")
print("losses", losses)
