"""Train a Llama that device_map="auto" has spread over the GPUs, in one process, with transformers' Trainer.

The options are TrainingArguments, e.g. --max_steps 8 --learning_rate 1e-4
"""

import tempfile

import torch
from transformers import HfArgumentParser, LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=128,
    hidden_size=64,
    intermediate_size=160,
    num_hidden_layers=8,
    num_attention_heads=4,
)
texts = torch.randint(0, config.vocab_size, (16, 24))
dataset = [{"input_ids": text, "labels": text} for text in texts]

with tempfile.TemporaryDirectory() as folder:
    LlamaForCausalLM(config).save_pretrained(folder)
    model = LlamaForCausalLM.from_pretrained(folder, device_map="auto")
    parser = HfArgumentParser(TrainingArguments)
    parser.set_defaults(output_dir=folder, max_steps=4, per_device_train_batch_size=4, learning_rate=1e-3)
    parser.set_defaults(logging_steps=1, save_strategy="no", report_to="none", disable_tqdm=True)
    [arguments] = parser.parse_args_into_dataclasses()
    trainer = Trainer(model=model, args=arguments, train_dataset=dataset)
    trainer.train()

losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
print("map", getattr(model, "hf_device_map", model.device))
print("losses", losses)
