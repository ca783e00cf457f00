"""Fine-tune Qwen as finetune.py of December 2023 did (QwenLM/Qwen#920): device_map="auto" in every rank of torchrun.

    devsan run --gpus 8 -- torchrun --nproc-per-node 2 qwen_finetune.py

Then the engine moves the whole model to the GPU of its rank. ``--engine deepspeed`` is DeepSpeed's, of ZeRO-2; without
it a few lines do the same. ``--fix none`` and ``--fix rank`` load without a map, and with one for the rank's GPU.
"""

import argparse
import os
import tempfile

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from transformers import Qwen2Config, Qwen2ForCausalLM

LOCAL_RANK = int(os.environ["LOCAL_RANK"])


class Engine:
    """Owns a module: it lies on the GPU of its rank, and its gradients are averaged."""

    def __init__(self, module):
        self.module = module.to(LOCAL_RANK)
        self.optimizer = torch.optim.AdamW(self.module.parameters(), lr=1e-3)
        self.reduce = DistributedDataParallel(self.module, device_ids=[LOCAL_RANK])

    def step(self, batch):
        loss = self.reduce(**batch).loss
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()


class DeepSpeed:
    """The same by DeepSpeed."""

    def __init__(self, module):
        import deepspeed

        config = {
            "train_micro_batch_size_per_gpu": 2,
            "zero_optimization": {"stage": 2},
            "zero_allow_untested_optimizer": True,
        }
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
        self.engine, *_ = deepspeed.initialize(model=module, optimizer=optimizer, config=config)

    def step(self, batch):
        loss = self.engine(**batch).loss
        self.engine.backward(loss)
        self.engine.step()
        return loss.item()


def placement(fix, busy):
    if fix == "none":
        return {}
    if fix == "rank":
        return {"device_map": {"": LOCAL_RANK}}
    free = dict.fromkeys(range(1 if busy else 0, torch.cuda.device_count()), "20GB")
    return {"device_map": "auto", "max_memory": free}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", choices=["plain", "deepspeed"], default="plain")
    parser.add_argument("--fix", choices=["none", "rank"])
    parser.add_argument("--busy", action="store_true", help="GPU 0 has no memory left for a layer")
    words = parser.parse_args()

    torch.cuda.set_device(LOCAL_RANK)
    torch.manual_seed(0)
    heads = {"num_attention_heads": 4, "num_key_value_heads": 4, "tie_word_embeddings": False}
    config = Qwen2Config(vocab_size=512, hidden_size=64, intermediate_size=128, num_hidden_layers=16, **heads)
    tokens = torch.randint(0, config.vocab_size, (2, 12))
    with tempfile.TemporaryDirectory() as folder:
        Qwen2ForCausalLM(config).save_pretrained(folder)
        model = Qwen2ForCausalLM.from_pretrained(folder, **placement(words.fix, words.busy))
    dist.init_process_group("nccl")
    if LOCAL_RANK == 0 and hasattr(model, "hf_device_map"):
        print("map", sorted({int(device) for device in model.hf_device_map.values()}))
    engine = DeepSpeed(model) if words.engine == "deepspeed" else Engine(model)
    batch = {"input_ids": tokens.to(LOCAL_RANK), "labels": tokens.to(LOCAL_RANK)}
    losses = [round(engine.step(batch), 4) for _ in range(2)]
    print(f"rank {LOCAL_RANK} losses {losses}\n", end="", flush=True)
    dist.destroy_process_group()


main()
