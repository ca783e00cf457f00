"""A transformers model of a real size with random weights: subject.py MODEL train|infer [SAMPLES].

Loaded from its configuration alone with device_map="sequential", which is what accelerate's infer_auto_device_map makes
of the memory of the GPUs. tools/plan_models.py plans it: `devsan plan --gpus 4:rtx3090-24g subject.py llama-7b train`.
"""

import sys
import tempfile

import torch
import transformers

LLAMA_13B = {"hidden_size": 5120, "intermediate_size": 13824, "num_hidden_layers": 40, "num_attention_heads": 40}
LLAMA_70B = {"hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64,
             "num_key_value_heads": 8}  # fmt: skip
QWEN2_7B = {"hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
            "num_key_value_heads": 4, "vocab_size": 152064}  # fmt: skip
OPT_7B = {"hidden_size": 4096, "ffn_dim": 16384, "num_hidden_layers": 32, "num_attention_heads": 32,
          "word_embed_proj_dim": 4096}  # fmt: skip
BLOOM_7B = {"hidden_size": 4096, "n_layer": 30, "n_head": 32}
T5_3B = {"d_model": 1024, "d_kv": 128, "d_ff": 16384, "num_layers": 24, "num_heads": 32, "decoder_start_token_id": 0}
MODELS = {
    "gpt2-xl": ("GPT2", {"n_embd": 1600, "n_layer": 48, "n_head": 25}),
    "llama-7b": ("Llama", {}),
    "llama-13b": ("Llama", LLAMA_13B),
    "llama-70b": ("Llama", LLAMA_70B),
    "qwen2-7b": ("Qwen2", QWEN2_7B),
    "mistral-7b": ("Mistral", {}),
    "opt-6.7b": ("OPT", OPT_7B),
    "falcon-7b": ("Falcon", {"num_attention_heads": 71, "alibi": False}),
    "gpt-j-6b": ("GPTJ", {}),
    "gpt-neox-20b": ("GPTNeoX", {}),
    "mixtral-8x7b": ("Mixtral", {}),
    "gemma-7b": ("Gemma", {}),
    "bloom-7b": ("Bloom", BLOOM_7B),
    "t5-3b": ("T5", T5_3B),
}
"""The name of the configuration in transformers, and what differs from its defaults."""

LENGTH = 512


def main(name: str, task: str, samples: int = 1) -> None:
    """Load the model and train it for two steps, or look at one batch."""
    kind, changes = MODELS[name]
    config = getattr(transformers, f"{kind}Config")(**changes)
    auto = transformers.AutoModelForSeq2SeqLM if kind == "T5" else transformers.AutoModelForCausalLM
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        model = auto.from_pretrained(folder, config=config, dtype=torch.bfloat16, device_map="sequential")
    tokens = torch.randint(1000, (samples, LENGTH), device="cuda:0")
    if task == "infer":
        with torch.no_grad():
            model(input_ids=tokens, **({"labels": tokens} if kind == "T5" else {}))
        return
    model.train()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
