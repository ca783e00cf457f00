# expect: DV201 | gpus: 2
"""A chat script: the model is spread; a helper brings it back from half precision to the GPU."""

import argparse

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


class Chat:
    def __init__(self, args):
        self.tokenizer = AutoTokenizer.from_pretrained(args.model)
        self.model = AutoModelForCausalLM.from_pretrained(args.model, device_map=args.map, torch_dtype=torch.float16)
        self.device = "cuda:0"

    def ready(self):
        self.model = self.model.to(self.device)
        return self.model.eval()

    def ask(self, text):
        inputs = self.tokenizer(text, return_tensors="pt").to(self.device)
        return self.model.generate(**inputs, max_new_tokens=8)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="gpt2")
    return parser.parse_args([])


args = parse()
args.map = "balanced"
chat = Chat(args)
chat.ready()
print(chat.ask("hello"))
